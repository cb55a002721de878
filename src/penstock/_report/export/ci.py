"""What a CI server is told at the end of a command: the files of `--junit` and `--sarif`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from penstock._engine.conclusion import Conclusion

HELD: Final = ""
"""What is said of a property that was judged and holds: nothing."""
NEVER_JUDGED: Final = "It never had anything to judge: the scenario does not exercise it."


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
    from penstock._report.export.formats import as_text, writing
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
