"""Disks that are soon full or cannot be written at all, for tests that must not need real ones."""

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def file_limit(length: int) -> Iterator[None]:
    """Let no file grow beyond a number of bytes; writing further fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def small_disk(folder: Path, *options: str) -> Iterator[Path]:
    """Give a disk of 64 KB with options for mount; whoever may not mount one skips the test."""
    folder.mkdir()
    wanted = ",".join(("size=64k", *options))
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", wanted, "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("Nobody may mount a small disk here.")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Leave no room on the disk that a folder is on."""
    with contextlib.suppress(OSError), (folder / "ballast").open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
