"""The one place that writes files, and that opens files which others wrote.

A file has no name until it is whole, where the file system allows that, and is written beside its final name
elsewhere; one that grows while a run goes on is opened once.  Nothing is ever written through a link: a run's
folder may come from a stranger, and what lies there under the name of a report may lead to a file of the
user's.  The folder that the user named may be a link, since he chose it; the folders below it (`within`) may
not.

Relative paths mean what they meant at the start (`staying`), whatever folder an app has moved to since.

What cannot be written is one sentence (`UnwritableError`), and no unfinished file is left behind.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, TextIO

from penstock.errors import PenstockError

_UNFINISHED: Final = re.compile(r"\.(\d{1,10})\.part\Z")
"""How the name of a file ends that is being written, with the process that writes it."""
TRACES: Final = Path("penstock-traces")
"""Where traces of searches and proofs are written unless somebody says."""
RUNS: Final = Path("penstock-runs")
"""Where the folders of fuzzing runs are made unless somebody says."""

_ADVICE: Final = {
    errno.ENOSPC: "make room, or write elsewhere",
    errno.EDQUOT: "make room, or write elsewhere",
    errno.EFBIG: "make room, or write elsewhere",
    errno.EROFS: "write elsewhere",
    errno.EACCES: "write elsewhere",
    errno.EPERM: "write elsewhere",
}
"""What to do about a file that cannot be written."""
_NAMELESS_REFUSED: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL})
"""What a file system says that has no files without names."""
NO_ROOM: Final = frozenset(_ADVICE)
"""The errors that say nothing about what was asked for, only that it finds no place."""


class UnwritableError(PenstockError):
    """A file cannot be written; the verdict that was to go into it is as good as before."""

    def __init__(self, what: str, path: Path, error: OSError) -> None:
        reason = error.strerror or str(error)
        advice = f"; {_ADVICE[error.errno]}" if error.errno in _ADVICE else ""
        named = nearest(path)
        place = f"{what} cannot be written to {named}" if what else f"{named} cannot be written"
        super().__init__(f"{place}: {reason}{advice}.")
        self.is_for_want_of_room = error.errno in NO_ROOM


# Where relative paths begin.


_start: Path | None = None


@contextlib.contextmanager
def staying() -> Iterator[None]:
    """Have relative paths mean what they mean now, until the end; whoever moved away is brought back."""
    global _start
    if _start is not None:
        yield
        return
    try:
        _start = start = Path.cwd()
    except FileNotFoundError:
        raise PenstockError("The current folder no longer exists: change to one that does.") from None
    try:
        yield
    finally:
        _start = None
        with contextlib.suppress(OSError):
            os.chdir(start)


def absolute(path: Path) -> Path:
    """Return a path from the root of the file system on, which an app's `os.chdir` does not move."""
    return (_start or Path.cwd()) / path


def nearest(path: Path) -> str:
    """Return a path as one would type it: from the folder where we began if it is in there."""
    given, start = absolute(path), absolute(Path())
    return os.path.relpath(given, start) if given.is_relative_to(start) else str(given)


# Reading.


def open_to_read(path: Path) -> BinaryIO:
    """Open a file that anybody may have written; only a regular one, since others may never end or answer."""
    try:
        descriptor = os.open(absolute(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise PenstockError(f"{path} cannot be read ({error.strerror}): check its path.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PenstockError(f"{path} cannot be read (it is not a regular file): check its path.")
    return open(descriptor, "rb")  # noqa: PTH123 - a descriptor has no path


def is_file(path: Path) -> bool:
    """Tell whether there is a regular file, or a link to one."""
    return absolute(path).is_file()


# Writing.


@contextlib.contextmanager
def whole_file(path: Path, what: str = "", *, within: Path | None = None) -> Iterator[BinaryIO]:
    """Give a file to be written, which is there under its name when it is whole, and not before."""
    with _naming(what, path), _folder_of(path, within) as folder:
        _refuse_what_is_no_file(path.name, folder)
        _sweep(path.name, folder)
        unfinished = _partial_name(path.name)
        try:
            with _open_unfinished(unfinished, folder) as file:
                yield file
            os.replace(unfinished, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished, dir_fd=folder)
            raise


def write_whole(path: Path, content: str | bytes, what: str = "", *, within: Path | None = None) -> None:
    """Write a file, whole or not at all."""
    # Halves of characters, as strangers' texts have them, are spelt out.
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with whole_file(path, what, within=within) as file:
        file.write(data)


def open_growing(path: Path, what: str = "", *, within: Path | None = None) -> BinaryIO:
    """Open a file that is written while something goes on; what was in it before is gone."""
    with _naming(what, path), _folder_of(path, within) as folder:
        _refuse_what_is_no_file(path.name, folder)
        # In place of an old file comes a new one, which nobody has another name for.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        return open(_create(path.name, folder), "wb")


def open_appended(path: Path, what: str = "", *, within: Path | None = None) -> BinaryIO:
    """Open a file to add to its end, unbuffered; a link, or a file of several names, is refused."""
    with _naming(what, path), _folder_of(path, within) as folder:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(path.name, flags, 0o666, dir_fd=folder)
        except OSError as error:
            raise _told_as_link(error) from None
        try:
            _refuse_kind(os.fstat(descriptor))
            if os.fstat(descriptor).st_nlink > 1:
                raise OSError(errno.EMLINK, "it has other hard links, whose file would change")
        except OSError:
            os.close(descriptor)
            raise
        return open(descriptor, "ab+", buffering=0)  # noqa: PTH123 - a descriptor


def add(file: BinaryIO, data: bytes) -> None:
    """Add to a file that was opened for it; a disk that takes only a part is full."""
    if file.write(data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def append(path: Path, data: bytes, what: str = "") -> None:
    """Add to the end of a file, which is there as soon as this returns."""
    with open_appended(path, what) as file, _naming(what, path):
        add(file, data)


def cut(path: Path, length: int, what: str = "") -> None:
    """Leave no more than the beginning of a file that is added to."""
    with open_appended(path, what) as file, _naming(what, path):
        file.truncate(length)


def copy(source: Path, target: Path, what: str = "") -> None:
    """Copy a file, whole or not at all."""
    with open_to_read(source) as original, whole_file(target, what) as file:
        shutil.copyfileobj(original, file)


def make_folder(path: Path, what: str = "", *, within: Path | None = None) -> None:
    """Make a folder, and those above it, unless it is there; below `within` a link is refused."""
    with _naming(what, path):
        if within is None:
            absolute(path).mkdir(parents=True, exist_ok=True)
            return
        absolute(within).mkdir(parents=True, exist_ok=True)
        for below in _below(path, within):
            with contextlib.suppress(FileExistsError), _folder_of(below, within) as folder:
                os.mkdir(below.name, dir_fd=folder)
        with _folder_of(path / "_", within):
            return


def new_folder(path: Path, what: str = "") -> bool:
    """Make a folder; tell whether it was not there before."""
    with _naming(what, path):
        try:
            absolute(path).mkdir()
        except FileExistsError:
            return False
        return True


def remove(path: Path, *, within: Path | None = None) -> None:
    """Remove a file, if it is there; of a link, the link."""
    with _naming("", path), _folder_of(path, within) as folder, contextlib.suppress(FileNotFoundError):
        os.unlink(path.name, dir_fd=folder)


def discard_output(stream: TextIO) -> None:
    """Have whatever is still printed on an output go nowhere, what waits in its buffer too."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def open_streams() -> None:
    """Have all three streams lead somewhere, or files that are opened later would be taken for them."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - it stays open


@contextlib.contextmanager
def _naming(what: str, path: Path) -> Iterator[None]:
    """Turn what the system says about a file into a sentence."""
    try:
        with _reserve_at_hand():
            yield
    except OSError as error:
        raise UnwritableError(what, path, error) from None


_RESERVED: Final = 16
"""How many files can be opened to write what was found when the program has opened all that it may."""

_has_reserve = False


def reserve_open_files() -> None:
    """Let a program that runs in this process open a few files less than the process may."""
    global _has_reserve
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < soft + _RESERVED and soft > 4 * _RESERVED:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard - _RESERVED, hard))
    _has_reserve = True


@contextlib.contextmanager
def _reserve_at_hand() -> Iterator[None]:
    """Let files be opened that are kept in reserve, if this process has such."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not _has_reserve or soft < 0:
        yield
        return
    more = soft + _RESERVED if hard < 0 else min(soft + _RESERVED, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _below(path: Path, within: Path) -> list[Path]:
    """Return the folders on the way from one folder down to another."""
    steps = absolute(path).relative_to(absolute(within)).parts
    return [absolute(within).joinpath(*steps[:depth]) for depth in range(1, len(steps) + 1)]


@contextlib.contextmanager
def _folder_of(path: Path, within: Path | None) -> Iterator[int]:
    """Give the folder that a file is in as a descriptor; from `within` on, no link is followed."""
    start = absolute(path).parent if within is None else absolute(within)
    descriptor = os.open(start, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for below in _below(path, start)[:-1]:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                deeper = os.open(below.name, flags, dir_fd=descriptor)
            except OSError as error:
                # Linux says of a link that it is no folder.
                is_link = stat.S_ISLNK(os.lstat(below.name, dir_fd=descriptor).st_mode)
                raise _link(f"{below.name} is") if is_link else error from None
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


def own_number() -> int:
    """Return this process's number as all others know it, whatever namespace it is in."""
    try:
        return int(Path("/proc/self").readlink().name)
    except (OSError, ValueError):
        return os.getpid()


def _partial_name(name: str) -> str:
    """Return what a file is called that is not there yet; two processes may write to one folder."""
    return f"{name}.{own_number()}.part"


@contextlib.contextmanager
def _open_unfinished(name: str, folder: int) -> Iterator[BinaryIO]:
    """Give a file to be written, which has its name afterwards; no half of it is left if we are killed.

    Not all file systems have files without names; there it has its name from the start.
    """
    try:
        descriptor = os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        if error.errno not in _NAMELESS_REFUSED:
            raise
        with open(_create(name, folder), "wb") as file:
            yield file
        return
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
        yield file
        file.flush()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        # The link in /proc leads to the file itself, and only a call with a folder follows links.
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder)


def _create(name: str, folder: int) -> int:
    """Open a file that is new; what has its name and was left behind is removed, and no link is followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, 0o666, dir_fd=folder)
    except FileExistsError:
        os.unlink(name, dir_fd=folder)
        return os.open(name, flags, 0o666, dir_fd=folder)


def _refuse_what_is_no_file(name: str, folder: int) -> None:
    """Refuse to replace what is neither absent nor a regular file: a link, a device, a pipe, a folder."""
    with contextlib.suppress(FileNotFoundError):
        _refuse_kind(os.lstat(name, dir_fd=folder))


def _refuse_kind(found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise _link("it is")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def _link(subject: str) -> OSError:
    return OSError(errno.ELOOP, f"{subject} a link, and Penstock does not write through links")


def _told_as_link(error: OSError) -> OSError:
    return _link("it is") if error.errno == errno.ELOOP else error


def _sweep(name: str, folder: int) -> None:
    """Remove what processes left unfinished that were killed while they wrote the same file."""
    for other in os.listdir(folder):
        found = _UNFINISHED.search(other)
        if found is not None and other[: found.start()] == name and not _is_running(int(found[1])):
            with contextlib.suppress(OSError):
                os.unlink(other, dir_fd=folder)


def _is_running(process: int) -> bool:
    # By its number a signal would reach another one, if we are in a namespace.
    return Path(f"/proc/{process}").exists() or not Path("/proc/self").exists()
