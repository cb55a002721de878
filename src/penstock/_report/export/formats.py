"""The formats that a run can be exported to, by name, and how a file comes to be whole or not at all."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

from penstock._base.files import UnwritableError, discard_output, whole_file
from penstock._engine.conclusion import Conclusion
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock._trace.consent import Consent

Write = Callable[[Sequence[Path], BinaryIO, str, "Consent | None"], str]
"""Writes some traces to a file, given what is to be drawn and whether what they name may run; returns what
there is to remark."""

STDOUT: Final = Path("-")
PICTURES: Final = ("network", "run")


@dataclass(frozen=True, slots=True)
class Format:
    """A format: what it is for, the ending of its files, and what writes it."""

    title: str
    suffix: str
    write: Write
    takes_several: bool = False
    picture: str = ""
    """What it draws unless told otherwise, if it is a picture."""
    retakes: bool = False
    """Whether the run is taken again for it, so that there is more to see if its controllers may run."""


def _pcap(paths: Sequence[Path], file: BinaryIO, _: str, consent: Consent | None) -> str:
    from penstock._report.export.pcap import write_pcap

    return write_pcap(paths[0], file, consent).remark


def _shiviz(paths: Sequence[Path], file: BinaryIO, _: str, _consent: Consent | None) -> str:
    from penstock._report.export.shiviz import write_shiviz

    with as_text(file) as text:
        return write_shiviz(paths[0], text)


def _itf(paths: Sequence[Path], file: BinaryIO, _: str, consent: Consent | None) -> str:
    from penstock._report.export.itf import write_itf

    with as_text(file) as text:
        return write_itf(paths[0], text, consent)


def _picture_in(language: str) -> Write:
    def write(paths: Sequence[Path], file: BinaryIO, picture: str, _: Consent | None) -> str:
        from penstock._report.export.graphs import write_picture

        with as_text(file) as text:
            return write_picture(paths[0], text, language, picture)

    return write


def _junit(paths: Sequence[Path], file: BinaryIO, _: str, _consent: Consent | None) -> str:
    from penstock._report.export.junit import Results, write_junit
    from penstock._report.export.violations import source_of

    with as_text(file) as text:
        return write_junit(Results(list(map(source_of, paths))), text)


def _sarif(paths: Sequence[Path], file: BinaryIO, _: str, _consent: Consent | None) -> str:
    from penstock._report.export.sarif import write_sarif
    from penstock._report.export.violations import source_of

    with as_text(file) as text:
        return write_sarif(list(map(source_of, paths)), text)


FORMATS: Final[Mapping[str, Format]] = {
    "pcap": Format("OpenFlow and frames, for Wireshark", ".pcapng", _pcap, retakes=True),
    "shiviz": Format("a log with vector clocks, for ShiViz", ".shiviz.log", _shiviz),
    "dot": Format("a picture, for Graphviz", ".dot", _picture_in("dot"), picture="network"),
    "mermaid": Format("a picture, for Markdown", ".mmd", _picture_in("mermaid"), picture="run"),
    "itf": Format("all states, in Apalache's trace format", ".itf.json", _itf, retakes=True),
    "junit": Format("test results, for CI servers", ".xml", _junit, takes_several=True),
    "sarif": Format("violations, for code scanning", ".sarif", _sarif, takes_several=True),
}


def export(
    name: str, paths: Sequence[Path], output: Path, picture: str = "", consent: Consent | None = None
) -> str:
    """Write traces in a format to a file, or to the standard output; return what there is to remark.

    Nothing that a trace names is run without consent.
    """
    form = FORMATS.get(name)
    if form is None:
        raise PenstockError(f"unknown format {name!r}: choose {', '.join(FORMATS)}.")
    if len(paths) != 1 and not form.takes_several:
        raise PenstockError(f"{name} shows one run: give one trace, or the folder of one run.")
    if picture and not form.picture:
        raise PenstockError(f"{name} draws no picture: leave out --picture.")
    with writing(output) as file:
        return form.write(paths, file, picture or form.picture, consent)


@contextlib.contextmanager
def writing(output: Path) -> Iterator[BinaryIO]:
    """Give a file to be written, which is there under its name when it is whole, and not before."""
    if output == STDOUT:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            discard_output(sys.stdout)
            raise UnwritableError("", Path("the standard output"), error) from None
        return
    with whole_file(output) as file:
        yield file


@contextlib.contextmanager
def as_text(file: BinaryIO) -> Iterator[TextIO]:
    """Give a file as one of UTF-8 text; halves of characters, as a trace may have, are spelt out."""
    text = io.TextIOWrapper(
        file, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=False
    )
    try:
        yield text
        text.flush()
    finally:
        text.detach()


# What a CI server is told at the end of a command.


HELD: Final = ""
"""What is said of a property that was judged and holds: nothing."""
NEVER_JUDGED: Final = "Never exercised: the scenario gives it nothing to judge."


def held_by(exercised: Mapping[str, int], broken: Iterable[str]) -> dict[str, str]:
    """Return the properties that a search did not break: nothing, or why they were not judged."""
    among = set(broken)
    return {name: HELD if times else NEVER_JUDGED for name, times in exercised.items() if name not in among}


def write_ci_files(
    *,
    junit: Path | None,
    sarif: Path | None,
    name: str,
    traces: Iterable[Path | None],
    held: Mapping[str, str] | None = None,
    conclusion: Conclusion | None = None,
    covered: Path | None = None,
    seconds: float = 0.0,
) -> None:
    """Write what a command found for a CI server, from the traces that it wrote.

    `held` are the properties that were not broken, each with why it was not judged, or with nothing;
    `conclusion` is what all of it came to, and `covered` a trace of the run if it broke nothing.
    """
    if junit is None and sarif is None:
        return
    # Most commands write neither and need not wait for this.
    from penstock._report.export.junit import Results, write_junit
    from penstock._report.export.sarif import Held, write_sarif
    from penstock._report.export.violations import source_of

    sources = [source_of(path) for path in dict.fromkeys(traces) if path is not None]
    if junit is not None:
        with writing(junit) as file, as_text(file) as text:
            write_junit(Results(sources, held or {}, name, seconds, conclusion), text)
    if sarif is not None:
        about = sources[0] if sources else None if covered is None else source_of(covered)
        with writing(sarif) as file, as_text(file) as text:
            write_sarif(sources, text, Held(held or {}, conclusion, about))
