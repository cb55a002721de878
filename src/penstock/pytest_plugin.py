"""Penstock in pytest: a fixture that examines controllers, and traces that are replayed as tests.

    def test_no_ordering_breaks_my_app(penstock):
        penstock.check("my_app.py", topology="linear,2")

The fixture `penstock` has the functions of the package; what they find fails the test, and the failure is the
story of it with the command that opens the report, not a Python traceback.  Relative paths are looked for
from pytest's root folder.  Traces are written below the test's `tmp_path`, or `--penstock-output DIR`.

Regression traces: each `*.jsonl` below the folders of the ini option `penstock_traces`, or of
`--penstock-traces DIR`, is a test.  The inputs of the trace are given to the controller again, and the test
fails as long as the violation comes again.  A file `name.xfail` beside `name.jsonl`, with the reason in it,
says that the bug is known: the test is then expected to fail, and fails once it does not.

The marker `penstock` is on all such tests and on those that use the fixture; with keywords,
`@pytest.mark.penstock(seconds=10)`, it gives fields to every call in the test.

Every pytest run on a machine with Penstock loads this module, so it imports no engine before one is needed.
"""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Generator, Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack

import pytest

from penstock._results import Broken, Result
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock._api import CheckFields, FuzzFields, VerifyFields
    from penstock._check.check import Report
    from penstock._fuzz.fuzzing import Report as Run
    from penstock._scenario.scenario import Scenario
    from penstock._verify.proof import Proof

R = TypeVar("R")

MARKER: Final = "penstock"
_NO_TRACES: Final = ("progress.jsonl", "-covered.jsonl")
"""How the names of files end that minimisations, and searches that find nothing, leave beside traces."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tell pytest of the options."""
    group = parser.getgroup("penstock", "bugs in SDN controllers")
    group.addoption(
        "--penstock-output",
        metavar="DIR",
        help="Where the fixture penstock writes traces; by default below each test's tmp_path.",
    )
    group.addoption(
        "--penstock-traces",
        metavar="DIR",
        action="append",
        default=[],
        help="Replay each trace below this folder as a test; repeatable, besides those of the ini option.",
    )
    group.addoption(
        "--penstock-strict",
        action="store_true",
        help="A result of check or verify that is not conclusive fails the test.",
    )
    group.addoption(
        "--penstock-tries",
        type=int,
        default=1,
        metavar="N",
        help=(
            "How many times a trace of real processes is replayed until its violation recurs; by "
            "default once."
        ),
    )
    group.addoption(
        "--penstock-trust",
        action="store_true",
        help="Replay traces with the code that they name as it is now, whether or not they were recorded "
        "here with that; as penstock_trust = true in the configuration.",
    )
    parser.addini("penstock_trust", "Replay traces with whatever code they name.", type="bool", default=False)
    parser.addini("penstock_traces", "Folders with traces to be replayed as tests.", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and have the folders of traces collected that nobody else would look into."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(**fields): examines a controller; fields of a scenario for every call of the fixture.",
    )
    wanted = list(config.getoption("penstock_traces"))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        wanted += map(str, config.getini("penstock_traces"))
    for folder in wanted:
        if not any(_within(Path(folder), Path(given)) for given in config.args):
            config.args.append(folder)


def _within(path: Path, folder: Path) -> bool:
    return path.absolute().is_relative_to(folder.absolute())


# The fixture.


_SEARCHES: Final = ("check", "verify")
"""The engines that can be conclusive; no run of the others is."""


class PenstockWarning(UserWarning):
    """A test passed although something was left out that could matter."""


class Examiner:
    """The functions of the package `penstock`, for one test: what they find fails it."""

    def __init__(
        self, root: Path, output: Path, defaults: dict[str, Any], *, strict: bool = False, trust: bool = False
    ) -> None:
        self._strict = strict
        self._trust = trust
        self._root = root
        self._output = output
        self._defaults = defaults

    def check(
        self,
        scenario: Scenario | str | PathLike[str],
        /,
        *,
        conclusive: bool = False,
        **given: Unpack[CheckFields],
    ) -> Result[Report]:
        """Search every ordering; with `conclusive`, the test also fails if a bound stopped the search."""
        from penstock._api import check

        return self._assert_holds(
            check(self._scenario_to_run(scenario), **self._with(given)), conclusive=conclusive
        )

    def verify(
        self,
        scenario: Scenario | str | PathLike[str],
        /,
        *,
        conclusive: bool = True,
        **given: Unpack[VerifyFields],
    ) -> Result[Proof]:
        """Prove properties; unless not `conclusive`, the test also fails if that is no proof."""
        from penstock._api import verify

        return self._assert_holds(
            verify(self._scenario_to_run(scenario), **self._with(given)), conclusive=conclusive
        )

    def fuzz(self, scenario: Scenario | str | PathLike[str], /, **given: Unpack[FuzzFields]) -> Result[Run]:
        """Run a controller while things go wrong."""
        from penstock._api import fuzz

        return self._assert_holds(fuzz(self._scenario_to_run(scenario), **self._with(given)))

    def replay(self, trace: str | PathLike[str], /, *, tries: int = 1, trust: bool = False) -> Result[Any]:
        """Give the inputs of a trace again; its violation must not come again.

        The code that it names has to be what it was recorded with here, unless you `trust` it.
        """
        from penstock._api import replay

        trusted = trust or self._trust
        return self._assert_holds(replay(self._root / trace, tries=tries, exact=False, trust=trusted))

    def _scenario_to_run(self, scenario: Scenario | str | PathLike[str]) -> Scenario | Path | str:
        """Return what is to be examined; files are looked for from the root on."""
        if not isinstance(scenario, str | PathLike):
            return scenario
        file = Path(scenario)
        return self._root / file if file.suffix in (".py", ".toml") else str(file)

    def _with(self, given: Any) -> Any:
        return {"output": self._output, **self._defaults, **given}

    def _assert_holds(self, result: Result[R], *, conclusive: bool = False) -> Result[R]:
        result.assert_holds(conclusive=conclusive or self._strict)
        if not result.conclusive and result.engine in _SEARCHES:
            left_out = "; ".join(result.left_out)
            text = _display_text(f"{result} is not conclusive: {left_out}")
            warnings.warn(PenstockWarning(text), stacklevel=3)
        return result


@pytest.fixture
def penstock(request: pytest.FixtureRequest, tmp_path: Path) -> Examiner:
    """Examine controllers: `penstock.check("my_app.py")` fails the test with the story of what it finds."""
    config, given = request.config, request.config.getoption("penstock_output")
    output = tmp_path
    if given is not None:
        # Tests that examine the same app do not write over each other's traces, nor do workers of xdist.
        output = config.invocation_params.dir / given / re.sub(r"[^\w.-]+", "-", request.node.nodeid)
    defaults: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        defaults |= marker.kwargs
    strict = bool(config.getoption("penstock_strict"))
    return Examiner(config.rootpath, output, defaults, strict=strict, trust=_is_trusted(config))


def _is_trusted(config: pytest.Config) -> bool:
    """Tell whether the user wants traces replayed with whatever code they name."""
    return bool(config.getoption("penstock_trust") or config.getini("penstock_trust"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the fixture."""
    for item in items:
        if "penstock" in getattr(item, "fixturenames", ()):
            item.add_marker(MARKER)


# Regression traces.


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TraceFile | None:
    """Take the traces below the folders that were named."""
    if file_path.suffix != ".jsonl" or file_path.name.endswith(_NO_TRACES):
        return None
    config = parent.config
    folders = [*map(Path, config.getoption("penstock_traces")), *config.getini("penstock_traces")]
    if not any(_within(file_path, folder) for folder in folders):
        return None
    return TraceFile.from_parent(parent, path=file_path)


class TraceFile(pytest.File):
    """A trace that is a test."""

    def collect(self) -> Iterator[TraceTest]:
        """Yield the one test that a trace is."""
        yield TraceTest.from_parent(self, name="replay")


class TraceTest(pytest.Item):
    """Gives the inputs of a trace to the controller again; fails as long as its violation comes."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.add_marker(MARKER)
        known = self.path.with_suffix(".xfail")
        if known.is_file():
            reason = " ".join(known.read_text(encoding="utf-8").split()) or "a known bug"
            gone = f"if the bug is gone, delete {known.name}"
            self.add_marker(pytest.mark.xfail(reason=f"{reason} ({gone})", raises=Broken, strict=True))

    def runtest(self) -> None:
        """Replay the trace."""
        from penstock._api import replay
        from penstock._trace.consent import consent_to

        trust = _is_trusted(self.config)
        # Said here too, since it is to name what can be given here.
        consent_to(self.path, trust=trust, how="--penstock-trust, or penstock_trust = true,")
        tries = self.config.getoption("penstock_tries")
        result = replay(self.path, tries=tries, exact=False, trust=True)
        for remark in result.remarks:
            self.add_report_section("call", "penstock", _display_text(remark))
        result.assert_holds()

    def reportinfo(self) -> tuple[Path, None, str]:
        """Say what the test is called in reports."""
        return self.path, None, f"replay of {self.path.name}"


# Failures.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what was found as its story, and bad input as its sentence, without a Python traceback."""
    error = call.excinfo.value if call.excinfo is not None else None
    text = None if error is None else _text_of(error, ours=_is_ours(item))
    if error is not None and text is not None:
        _cut(error)
        # They come out with the report of the teardown, which is the one that JUnit's format is made of.
        item.user_properties.extend(_traces_of(error))
    report = yield
    if text is not None and report.failed:
        report.longrepr = _display_text(text)
    return report


def _display_text(text: str) -> str:
    """Return a text as a terminal may have it: apps and traces that are told of may be strangers'."""
    from penstock._base.text import visible

    return visible(text)


def _text_of(error: BaseException, *, ours: bool) -> str | None:
    """Return how an error is shown; None if that is for pytest to decide."""
    if isinstance(error, Broken):
        return str(error)
    if ours and isinstance(error, PenstockError):
        # A property of the user's that raised has the place in its code with it.
        return f"{error}\n\n{getattr(error, 'traceback', '')}".rstrip()
    if ours and _entrance(error.__traceback__) is not None:
        return "".join(traceback.format_exception(error))
    return None


def _is_ours(item: pytest.Item) -> bool:
    """Tell whether a test has Penstock look for something, rather than testing Penstock."""
    return item.get_closest_marker(MARKER) is not None or MARKER in getattr(item, "fixturenames", ())


def _entrance(place: TracebackType | None) -> TracebackType | None:
    """Return the last place before a traceback goes into Penstock."""
    while place is not None and place.tb_next is not None:
        if place.tb_next.tb_frame.f_globals.get("__name__", "").startswith("penstock."):
            return place
        place = place.tb_next
    return None


def _cut(error: BaseException) -> None:
    """Take what is inside of Penstock from a traceback: pytest prints arguments, and states are endless."""
    error.__cause__ = error.__context__ = None
    if (place := _entrance(error.__traceback__)) is not None:
        place.tb_next = None


def _traces_of(error: BaseException) -> Iterator[tuple[str, object]]:
    """Yield where the traces are, for reports in JUnit's format."""
    for violation in error.violations if isinstance(error, Broken) else ():
        if violation.trace is not None:
            yield "penstock-trace", str(violation.trace)
