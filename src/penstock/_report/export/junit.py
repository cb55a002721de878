"""Results as JUnit's XML, which every CI server shows.

A suite is a scenario, a test case a property.  One that was broken is a failure with the story as its text.
One that was not broken passed only if the verdict is conclusive, proved or exhausted; JUnit has no word for a
verdict that is bounded, so the case is skipped with the reasons, as is one that never had anything to judge.
Where nothing at all was judged, cases fail.  A trace alone is one case in its own name, judged by what its
header, or the summary beside it, says.  The verdict is among the properties of the suite.

There is no one schema; this keeps to what the schemas of Ant, Jenkins and pytest have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TextIO
from xml.etree import ElementTree

from penstock._base.text import visible
from penstock._engine.conclusion import UNKNOWN, Conclusion
from penstock._report.export.violations import Source, violations_of
from penstock._trace.trace import CUT_SHORT
from penstock._verdict.verdict import Result

_PREFIX: Final = "penstock"


@dataclass(frozen=True, slots=True)
class Results:
    """What is to be told: traces, and what else was found out about their properties."""

    sources: Sequence[Source]
    held: Mapping[str, str] = field(default_factory=dict)
    """The properties that were not broken: nothing, or why they were not judged."""
    name: str = ""
    """What the scenario is called, where there may be no trace to say so."""
    seconds: float = 0.0
    conclusion: Conclusion | None = None
    """What all of it came to, where that is known."""


def write_junit(results: Results, file: TextIO) -> str:
    """Write results as JUnit's XML."""
    root = ElementTree.Element("testsuites", name=_PREFIX)
    suites = [_suite(name, cases, results) for name, cases in _suites(results).items()]
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in suites)))
    root.set("time", _seconds(results.seconds))
    root.extend(suites)
    ElementTree.indent(root)
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    file.write(ElementTree.tostring(root, encoding="unicode") + "\n")
    return ""


def _suites(results: Results) -> dict[str, list[ElementTree.Element]]:
    """Return the cases by the names of their suites, in order."""
    found: dict[str, list[ElementTree.Element]] = {}
    if results.name:
        found[results.name] = []
    for source in results.sources:
        found.setdefault(source.name, []).extend(_cases(source, results.conclusion))
    for name, why in results.held.items():
        suite = results.name or next(iter(found), _PREFIX)
        case = _case(suite, name)
        _judge(case, why, results.conclusion)
        found.setdefault(suite, []).append(case)
    return found


def _judge(case: ElementTree.Element, why: str, conclusion: Conclusion | None) -> None:
    """Mark a case of a property that was not broken as one that fails or is skipped, or let it pass."""
    if conclusion is not None and not conclusion.judged:
        said = "\n".join([why, *conclusion.lines()] if why else conclusion.lines())
        failure = ElementTree.SubElement(case, "failure", message="Nothing was judged.", type="unjudged")
        failure.text = _clean(said)
    elif why:
        ElementTree.SubElement(case, "skipped", message=_clean(why))
    elif conclusion is not None and conclusion.result is Result.BOUNDED:
        ElementTree.SubElement(case, "skipped", message=_clean(f"Bounded. {conclusion.told}"))


def _cases(source: Source, conclusion: Conclusion | None) -> Iterator[ElementTree.Element]:
    broken = violations_of(source.trace)
    for violated in broken:
        case = _case(source.name, violated.property)
        message = _clean(violated.message)
        failure = ElementTree.SubElement(case, "failure", message=message, type=_clean(violated.property))
        failure.text = _clean("\n".join(violated.story()))
        _remark(case, source)
        yield case
    if not broken:
        case = _case(source.name, source.file.stem)
        known = conclusion or source.conclusion()
        _judge(case, "" if known is not None and not source.trace.cut_short else UNKNOWN, known)
        _remark(case, source)
        yield case


def _case(suite: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=_clean(f"{_PREFIX}.{suite}"), name=_name(name), time="0")


def _remark(case: ElementTree.Element, source: Source) -> None:
    told = f"penstock replay {source.shown}"
    if source.trace.cut_short:
        told += f"\n{CUT_SHORT}"
    ElementTree.SubElement(case, "system-out").text = _clean(told)


def _suite(name: str, cases: list[ElementTree.Element], results: Results) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_name(name), tests=str(len(cases)))
    for total, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(total, str(sum(case.find(child) is not None for case in cases)))
    suite.set("time", _seconds(results.seconds))
    if results.conclusion is not None:
        suite.append(_verdict(results.conclusion))
    suite.extend(cases)
    return suite


def _verdict(conclusion: Conclusion) -> ElementTree.Element:
    """Return the verdict, its reasons and what to try next, as properties of a suite."""
    found = ElementTree.Element("properties")
    named = [("verdict", str(conclusion.result)), ("told", conclusion.told)]
    named += [("reason", reason) for reason in conclusion.reasons]
    named += [("next step", step) for step in conclusion.next_steps]
    for name, value in named:
        ElementTree.SubElement(found, "property", name=name, value=_clean(value))
    return found


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _clean(text: str) -> str:
    """Return a text without what XML 1.0 cannot say, not even escaped, and what misleads."""
    return visible(text, keep="\n\t")


def _name(text: str) -> str:
    """Return a name, which nothing here may be without."""
    return _clean(text) or "unnamed"
