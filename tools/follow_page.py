"""Follows a page of the documentation literally: writes its files, types its commands, compares its output.

    python tools/follow_page.py docs/tutorial.md [FOLDER]

Blocks are taken in their order, all in one folder, with `penstock` on the PATH and, but for pages of how-tos,
`examples` in place:

- `console`: each line that begins with `$ ` is typed into a shell.  Lines below it are what it prints.
- `text`, after such a block or after `python`: a part of what was printed last.
- `python`: run, or written to a file.  `toml`: a scenario, which must have no unknown names, or a file.
- anything else: written to a file.

Comments right above a block say more.  `<!-- file: app.py -->` writes it there instead of running it.
`<!-- status: 1 -->` is the exit status, one for each command, by default 0.  `<!-- typed -->` has what comes
behind the prompts `> ` of a `text` block typed into the command before it.  `<!-- needs: name -->` is a file
or a program that must be there.  `<!-- not run: why -->` leaves a block out.

In output, … stands for anything, and on a line of its own for any lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
LONGEST_S: Final = 600
"""How long a command may take on a busy machine."""
PROVIDED: Final = {
    "examples": ROOT / "examples",
    "faucet-env": ROOT / ".cache" / "faucet-1.10.12",
}
"""What the reader has in the folder already, as it would be after what is not run."""
_FENCE: Final = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMENTS: Final = re.compile(r"(?:<!--[^>]*-->\s*)+\Z")
_COMMENT: Final = re.compile(r"<!--\s*([a-z ]+?)\s*(?::\s*(.*?))?\s*-->", re.DOTALL)
_COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class WrongPage(Exception):
    """A page says something that is not so."""


class Missing(Exception):
    """A page needs a program that is not on this machine."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page, with what the comments above it say."""

    page: str
    line: int
    language: str
    text: str
    said: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Where the block is."""
        return f"{self.page}:{self.line}"

    @property
    def reason(self) -> str | None:
        """Why the block is not run; None if it is."""
        return self.said.get("not run")

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console, each with what is said to be printed."""
        found = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [(command, printed) for command, _, printed in (each.partition("\n") for each in found)]


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    name = str(page.resolve().relative_to(ROOT)) if page.resolve().is_relative_to(ROOT) else page.name
    found, end = [], 0
    for fence in _FENCE.finditer(text):
        above = _COMMENTS.search(text[end : fence.start()])
        said = {key: value or "" for key, value in _COMMENT.findall(above.group())} if above else {}
        line = text.count("\n", 0, fence.start()) + 1
        if not fence[1].startswith("{"):  # that is Sphinx's to fill
            found.append(Block(name, line, fence[1], fence[2], said))
        end = fence.end()
    return found


def is_shown(shown: str, printed: str, *, whole: bool) -> bool:
    """Tell whether a page's output is what was printed, or a part of it."""
    lines = []
    for line in shown.rstrip("\n").split("\n"):
        if line.strip() == "…":
            lines.append(r"(?:[^\n]*\n)*?")
        else:
            lines.append(re.escape(line.rstrip()).replace("…", r"[^\n]*?") + r"[ \t]*\n")
    pattern = "".join(lines)
    text = printed.rstrip("\n") + "\n"
    if whole:
        return re.fullmatch(pattern, text) is not None
    return re.search(r"(?:^|(?<=\n))" + pattern, text) is not None


class Following:
    """A reader who does what a page says, in a folder of their own.

    With an environment, which says what is on the PATH, they have just that, and an empty folder; otherwise
    the folder has those of the checkout's that are provided.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        provided: Collection[str] = tuple(PROVIDED),
    ) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PATH": _path()} if environment is None else dict(environment)
        self._printed = ""
        self._typed: list[str] = []
        self.ran: list[str] = []
        """What was typed, run or written, with its place."""
        for name, source in PROVIDED.items() if environment is None else ():
            if name in provided and source.exists() and not (folder / name).exists():
                (folder / name).symlink_to(source)

    def follow(self, blocks: list[Block]) -> None:
        """Follow a page's blocks in order."""
        for number, block in enumerate(blocks):
            if block.reason is None:
                after = blocks[number + 1] if number + 1 < len(blocks) else None
                self._typed = _typed_in(after) if after is not None and "typed" in after.said else []
                self._do(block)

    def _do(self, block: Block) -> None:
        needed = block.said.get("needs")
        if needed and not (self.folder / needed).exists() and self._which(needed) is None:
            raise Missing(f"{block.place} needs {needed}, which make setup installs.")
        if "file" in block.said:
            file = self.folder / block.said["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
            self.ran.append(f"{block.place} writes {block.said['file']}")
        elif block.language == "console":
            self._type(block)
        elif block.language == "python":
            self._printed = self._run(block, ["python", "-c", block.text], 0)
            self.ran.append(f"{block.place} runs Python")
        elif block.language == "toml":
            _read_scenario(block, self.folder)
            self.ran.append(f"{block.place} is a scenario")
        elif "typed" in block.said:
            self.ran.append(f"{block.place} was typed: {'; '.join(_typed_in(block))}")
        elif block.language == "text":
            if not self._printed or not is_shown(block.text, self._printed, whole=False):
                raise WrongPage(f"{block.place} shows what is not printed:\n{self._printed[-4000:]}")
            self.ran.append(f"{block.place} compares output")
        else:
            raise WrongPage(f"{block.place} is neither run nor says why: add <!-- not run: reason -->.")

    def _which(self, program: str) -> str | None:
        return shutil.which(program, path=self._environment["PATH"])

    def _type(self, block: Block) -> None:
        statuses = [int(word) for word in block.said.get("status", "").split()]
        if not block.commands:
            raise WrongPage(f"{block.place} has no command: a line begins with '$ '.")
        self._printed = ""
        for number, (command, shown) in enumerate(block.commands):
            status = statuses[number] if number < len(statuses) else 0
            printed = self._run(block, ["bash", "-c", command], status)
            if shown.strip() and not is_shown(shown, printed, whole=True):
                raise WrongPage(f"{block.place}: {command!r} prints something else:\n{printed[-4000:]}")
            self._printed += printed
            self.ran.append(f"{block.place} $ {command}")

    def _run(self, block: Block, words: list[str], status: int) -> str:
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**self._environment, "TERM": "dumb", "COLUMNS": "100"},
            input="\n".join(self._typed),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        printed = _COLOURS.sub("", done.stdout)
        if done.returncode != status:
            ended = f"ends with status {done.returncode}, not {status}"
            raise WrongPage(f"{block.place}: {words[-1]!r} {ended}:\n{printed[-4000:]}")
        return printed


def _path() -> str:
    """Return where programs are looked for: our own first, daemons too."""
    own = str(Path(sys.executable).parent)
    return os.pathsep.join([own, os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _typed_in(block: Block) -> list[str]:
    """Return what a text block has behind its prompts."""
    return [line.partition("> ")[2] for line in block.text.splitlines() if "> " in line]


def _read_scenario(block: Block, folder: Path) -> None:
    from penstock._scenario.scenario import scenario_of
    from penstock.errors import PenstockError

    try:
        scenario_of(tomllib.loads(block.text), folder)
    except (PenstockError, tomllib.TOMLDecodeError) as error:
        raise WrongPage(f"{block.place} is not a scenario: {error}") from None


def provided_for(page: Path) -> Collection[str]:
    """Return what a page's reader has already: a how-to begins in an empty folder."""
    return ("faucet-env",) if page.parent.name == "howto" else tuple(PROVIDED)


def pages() -> Iterator[Path]:
    """Yield the pages that are followed: README and the documentation."""
    yield ROOT / "README.md"
    yield from sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)


def main() -> None:
    """Follow a page, and say what was done."""
    page = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp(prefix="penstock-page-"))
    folder.mkdir(parents=True, exist_ok=True)
    following = Following(folder, provided=provided_for(page))
    try:
        following.follow(blocks_of(page))
    except (WrongPage, Missing) as wrong:
        sys.exit(str(wrong))
    finally:
        print(*following.ran, sep="\n")
    print(f"All of {page.name} was followed in {folder}.")


if __name__ == "__main__":
    main()
