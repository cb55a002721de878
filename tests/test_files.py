"""Files are written whole or not at all, never through a link, and where they belong."""

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.disk_lab import file_limit, fill, small_disk

import penstock
from penstock._base.files import (
    UnwritableError,
    absolute,
    append,
    make_folder,
    new_folder,
    open_appended,
    open_growing,
    open_to_read,
    own_number,
    remove,
    staying,
    whole_file,
    write_whole,
)
from penstock.errors import PenstockError

Writer = Callable[[Path], None]


def grow(path: Path) -> None:
    with open_growing(path) as file:
        file.write(b"new")


WRITERS: dict[str, Writer] = {
    "whole": lambda path: write_whole(path, "new"),
    "growing": grow,
    "appended": lambda path: append(path, b"new"),
}


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# Whole or not at all.


def test_a_file_is_not_there_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with whole_file(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert everything_in(tmp_path) == ["report.html"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_is_broken_off_leaves_the_old_file_and_no_other(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(type(error)), whole_file(path) as file:
        file.write(b"half")
        raise error
    assert path.read_text() == "old"
    assert everything_in(tmp_path) == ["report.html"]


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_a_disk_that_is_full_is_one_sentence_and_leaves_nothing(tmp_path: Path, size: int) -> None:
    with file_limit(size // 2), pytest.raises(UnwritableError) as raised:
        write_whole(tmp_path / "summary.json", b"x" * (size + 1), "The summary")
    assert str(raised.value) == (
        f"The summary cannot be written to {tmp_path / 'summary.json'}: "
        "File too large; make room, or write elsewhere."
    )
    assert raised.value.is_for_want_of_room
    assert everything_in(tmp_path) == []


@pytest.mark.parametrize("name", ["whole", "appended"])
def test_a_real_disk_that_is_full_is_one_sentence(tmp_path: Path, name: str) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fill(disk)
        with pytest.raises(UnwritableError, match=r"No space left on device; make room"):
            WRITERS[name](disk / "file")
        assert not list(disk.glob("*.part"))


@pytest.mark.parametrize(
    "writer", [*WRITERS.values(), make_folder, new_folder], ids=[*WRITERS, "folder", "new folder"]
)
def test_a_disk_that_cannot_be_written_is_one_sentence(tmp_path: Path, writer: Writer) -> None:
    with (
        small_disk(tmp_path / "disk", "ro") as disk,
        pytest.raises(UnwritableError, match=r"Read-only file system; write elsewhere\.$") as raised,
    ):
        writer(disk / "file")
    assert raised.value.is_for_want_of_room


def test_what_a_killed_process_left_is_swept_away_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    dead = tmp_path / f"report.html.{done.stdout.strip()}.part"
    living = tmp_path / f"report.html.{os.getppid()}.part"
    others = tmp_path / f"other.html.{done.stdout.strip()}.part"
    for path in (dead, living, others):
        path.touch()
    write_whole(tmp_path / "report.html", "new")
    assert everything_in(tmp_path) == sorted(["report.html", living.name, others.name])


@pytest.mark.parametrize("nameless", [True, False], ids=["without a name", "under another name"])
def test_a_process_that_is_killed_while_it_writes_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, nameless: bool
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    if not nameless:
        # What a file system says that has no files without names.
        monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)
    if not (child := os.fork()):
        try:
            with whole_file(path) as file:
                file.write(b"new")
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert path.read_text() == "old"
    assert everything_in(tmp_path) == ["report.html"] + ([] if nameless else [f"report.html.{child}.part"])
    write_whole(path, "newer")
    assert path.read_text() == "newer"
    assert everything_in(tmp_path) == ["report.html"]


def test_a_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    write_whole(tmp_path / "report.html", "new")
    (tmp_path / "other").touch()
    assert (tmp_path / "report.html").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert (tmp_path / "report.html").stat().st_nlink == 1


# Never through a link.


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("there", [True, False], ids=["leads somewhere", "leads nowhere"])
def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path, writer: Writer, there: bool) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    if there:
        victim.write_text("mine")
    link.symlink_to(victim)
    with pytest.raises(UnwritableError, match="it is a link, and Penstock does not write through links"):
        writer(link)
    assert link.is_symlink()
    assert victim.exists() == there and (not there or victim.read_text() == "mine")


def test_a_link_in_place_of_the_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "report.html"
    victim.write_text("mine")
    (tmp_path / f"report.html.{own_number()}.part").symlink_to(victim)
    (tmp_path / "report.html.part").symlink_to(victim)
    write_whole(path, "new")
    assert (victim.read_text(), path.read_text()) == ("mine", "new")
    assert not path.is_symlink()


def test_a_file_of_several_names_is_not_added_to(tmp_path: Path) -> None:
    victim, other = tmp_path / "victim", tmp_path / "progress.jsonl"
    victim.write_text("mine")
    other.hardlink_to(victim)
    with pytest.raises(UnwritableError, match="it has other hard links"):
        append(other, b"new")
    grow(other)
    write_whole(other, "newer")
    assert (victim.read_text(), other.read_text()) == ("mine", "newer")


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_file_is_neither_written_nor_replaced(tmp_path: Path, writer: Writer, kind: str) -> None:
    path = tmp_path / "file"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path = Path("/dev/full")
    before = path.lstat()
    with pytest.raises(
        UnwritableError, match=r"cannot be written: (it is not a regular file|Is a directory)"
    ):
        writer(path)
    assert path.lstat().st_ino == before.st_ino


@pytest.mark.parametrize("writer", ["whole", "growing", "appended", "make_folder", "remove"])
def test_a_folder_below_the_one_that_was_named_may_be_no_link(tmp_path: Path, writer: str) -> None:
    elsewhere, run = tmp_path / "elsewhere", tmp_path / "run"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine")
    run.mkdir()
    (run / "minimal").symlink_to(elsewhere)
    inside = run / "minimal" / "file"
    with pytest.raises(UnwritableError, match="minimal is a link"):
        match writer:
            case "whole":
                write_whole(inside, "new", within=run)
            case "growing":
                open_growing(inside, within=run).close()
            case "appended":
                open_appended(inside, within=run).close()
            case "make_folder":
                make_folder(run / "minimal" / "deeper", within=run)
            case _:
                remove(inside, within=run)
    assert everything_in(elsewhere) == ["file"] and (elsewhere / "file").read_text() == "mine"


def test_the_folder_that_was_named_may_be_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    folder = tmp_path / "link"
    make_folder(folder / "minimal", within=folder)
    write_whole(folder / "minimal" / "file", "new", within=folder)
    assert (tmp_path / "real" / "minimal" / "file").read_text() == "new"


def test_of_a_link_the_link_is_removed(tmp_path: Path) -> None:
    (tmp_path / "victim").touch()
    (tmp_path / "link").symlink_to("victim")
    remove(tmp_path / "link")
    remove(tmp_path / "link")
    assert everything_in(tmp_path) == ["victim"]


# Reading.


@pytest.mark.parametrize("kind", ["pipe", "folder", "/dev/zero", "/dev/tty", "nothing"])
def test_what_is_no_file_is_not_read_and_nobody_waits_for_it(tmp_path: Path, kind: str) -> None:
    path = Path(kind) if kind.startswith("/") else tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(PenstockError, match=rf"^{path} cannot be read \([\w ]+\): check its path\.$"):
        open_to_read(path)


# Where they belong.


def test_whoever_moves_away_takes_nothing_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with staying():
        os.chdir(tmp_path / "there")
        write_whole(Path("summary.json"), "new")
        append(Path("progress.jsonl"), b"new")
        make_folder(Path("runs/some"))
        with staying(), open_to_read(Path("summary.json")) as file:
            assert file.read() == b"new"
        assert absolute(Path("x")) == tmp_path / "here" / "x"
    assert Path.cwd() == tmp_path / "here"
    assert everything_in(tmp_path / "here") == ["progress.jsonl", "runs", "runs/some", "summary.json"]
    assert everything_in(tmp_path / "there") == []


def test_a_folder_that_is_gone_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(PenstockError, match="The current folder no longer exists"), staying():
        pass
    monkeypatch.chdir(tmp_path)


# Nobody else.


SOURCES = Path(penstock.__file__).parent
ELSEWHERE = {
    "_base/files.py": "it is the place",
    "_controllers/osken/sdist_metadata.py": "pip runs it, where there is no Penstock",
    "_base/sealing.py": "a key is for the user alone; of two processes that make one, the first one's stays",
    "_worker/containment.py": "it tells the kernel by /proc, where no file is beside another",
}
"""The modules that may write by themselves, each with the reason."""
OF_PATHS = frozenset({"write_text", "write_bytes", "touch", "mkdir", "symlink_to", "hardlink_to", "unlink"})
"""Calls that write, by names that only paths have."""
OF_MODULES = frozenset(
    {"mkdir", "makedirs", "rename", "renames", "replace", "link", "symlink", "copy", "copy2", "copyfile"}
    | {"copytree", "move", "mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "mkfifo", "mknod"}
    | {"truncate", "unlink", "rmdir"}
)
"""And by names that count when they are called on one of the modules for files."""


def written_by(tree: ast.AST) -> list[str]:
    """Return the calls in a module that write files without asking the place for it."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        first, _, last = name.rpartition(".")
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        modes = [str(each.value) for each in given if isinstance(each, ast.Constant)]
        opens = last in ("open", "fdopen") and any(
            re.fullmatch(r"[rbt]*[wxa+][+bt]*", mode) for mode in modes
        )
        flags = name == "os.open" and not ast.unparse(node).endswith("os.O_RDONLY)")
        of_module = last in OF_MODULES and first in ("os", "shutil", "tempfile")
        if opens or flags or of_module or (first and last in OF_PATHS):
            found.append(ast.unparse(node)[:80])
    return found


def test_nobody_else_writes_files() -> None:
    found = {
        str(path.relative_to(SOURCES)): calls
        for path in sorted(SOURCES.rglob("*.py"))
        if (calls := written_by(ast.parse(path.read_text())))
    }
    assert set(found) - set(ELSEWHERE) == set(), found


@pytest.mark.parametrize(
    "code",
    [
        "Path('x').write_text('y')",
        "path.open('w')",
        "open(path, mode='ab')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "os.replace(a, b)",
        "shutil.copyfile(a, b)",
        "folder.mkdir()",
        "tempfile.mkstemp()",
    ],
)
def test_and_who_did_would_be_noticed(code: str) -> None:
    assert written_by(ast.parse(code))
    assert not written_by(ast.parse("text.replace('a', 'b'); path.open(); path.open('rb'); replace(x, y=1)"))
