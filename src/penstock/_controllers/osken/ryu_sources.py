"""Fetching the sources of Ryu, for its own apps: an archive that is read and never built.

Ryu 4.34, its last release, installs on no Python of today.  pip downloads it, so that every way to set up an
index (configuration files, `PIP_*` variables, `file://` indexes, proxies, certificates) counts here too.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from penstock._base import ryu_names
from penstock._base.files import UnwritableError, copy, make_folder, write_whole
from penstock._base.ryu_names import cache_folder
from penstock._controllers.osken import sdist_metadata
from penstock.errors import PenstockError

_NAME: Final = f"{ryu_names.RYU}-{ryu_names.VERSION}"


def fetch() -> Path:
    """Return the folder with Ryu's sources, after they have been fetched if they are nowhere yet."""
    for folder in ryu_names.source_folders():
        return folder
    cache = cache_folder()
    try:
        make_folder(cache, "The sources of Ryu")
        with tempfile.TemporaryDirectory(prefix="fetching.", dir=cache) as work:
            unpacked = _unpack(_download(Path(work)), Path(work))
            # In one step, so that an interrupted fetch leaves nothing half done.
            unpacked.replace(cache / _NAME)
    except (OSError, UnwritableError) as error:
        # Another process may have been faster, with the same result.
        if not ryu_names.source_folders():
            raise PenstockError(
                f"Ryu's sources cannot be put into {cache}: {str(error).rstrip('.')}."
            ) from None
    return ryu_names.source_folders()[0]


def _download(work: Path) -> Path:
    """Have pip download the archive into a folder, with nothing but its metadata looked at."""
    if importlib.util.find_spec("pip") is None:
        raise PenstockError(f"This Python has no pip: run {sys.executable} -m ensurepip, then this again.")
    backend = work / "backend" / "setuptools"
    make_folder(backend)
    write_whole(backend / "__init__.py", "")
    copy(Path(sdist_metadata.__file__), backend / "build_meta.py")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download"]
    # The backend is found on PYTHONPATH only without the isolated environment that pip would make, and asked
    # only as PEP 517 has it: older versions of pip would run setup.py themselves.
    how = [
        "--no-deps",
        "--no-binary",
        ryu_names.RYU,
        "--no-build-isolation",
        "--use-pep517",
        "--dest",
        str(work),
    ]
    done = subprocess.run(
        [*pip, *how, f"{ryu_names.RYU}=={ryu_names.VERSION}"],
        env={**os.environ, "PYTHONPATH": str(backend.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    archive = work / f"{_NAME}.tar.gz"
    if done.returncode or not archive.is_file():
        raise PenstockError(
            f"pip could not download {_NAME} ({_reason(done.stdout)}): check pip's index and network, "
            f"or unpack {archive.name} from elsewhere into {cache_folder() / _NAME}."
        )
    return archive


def _reason(log: str) -> str:
    """Return the line of pip's output that says most about a failure."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no output"])[-1].removeprefix("ERROR:").strip().rstrip(".")


def _unpack(archive: Path, folder: Path) -> Path:
    """Unpack the archive and return the folder that was in it."""
    try:
        with tarfile.open(archive) as tar:
            # Links and paths that lead out of the folder are refused, where Python knows how.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(folder)
    except tarfile.TarError as error:
        raise PenstockError(f"{archive.name} is no archive ({error}): check pip's index.") from None
    if not (folder / _NAME / ryu_names.RYU / "app").is_dir():
        raise PenstockError(f"{archive.name} has no folder {_NAME}/{ryu_names.RYU}/app: check pip's index.")
    return folder / _NAME
