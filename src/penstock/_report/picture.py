"""A space-time picture of a run as text: one lane per component, time going down.

        h1      s1      c0
     1. ●       │       │     h1 sends h1#1 [UDP 10.0.0.1:7 > 10.0.0.2:7]
     2. ├──────►●       │     h1#1
     3. │       ├──────►✗     PacketIn(port=1, no_match)
     ✗                        ControllerCrash is violated

Each step is a row and marks the component that took it.  A message is drawn once: as an arrow from its
sender in the row in which it arrives, as an arrow that ends in × where it is lost, or below the last step if
it is still under way.  An arrow says which step sent its message unless that was the step before.

What does not fit is not left out without a word: lanes of the least busy components are put together in
one, which a line below the picture explains.  Only texts at the right are cut.  Of a run of which only some
lines are given nobody knows what became of a message, so none is said to be under way there.  Who is a host,
a switch or a controller is guessed from what they do, for the order of the lanes alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, assert_never

from rich.cells import cell_len, set_cell_size

from penstock._base.text import on_one_line
from penstock._report.run_story import Choice, chosen_lines
from penstock._story.story import headline
from penstock._trace.retelling import record_of
from penstock._trace.trace import FindingLine, InputLine, Line, LogLine, ProofTrace, Trace
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Endpoint, Message
from penstock._world.frame import packets_in, retell_packets
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, DELIVER, TIME, Record
from penstock.openflow.messages import OpenFlowMessage

_LONGEST_TEXT: Final = 2_000
"""How much of a text is looked at for what fits on a line."""
_WIDEST_LANE: Final = 8
_NARROWEST_LANE: Final = 4
_LEAST_TEXT, _ENOUGH_TEXT = 14, 40
"""How much room the texts at the right get before lanes are put together, and before they are widened."""

_HOST, _SWITCH, _FABRIC, _CONTROLLER = range(4)
_OF_SWITCHES: Final = frozenset({"matched", "missed", "rule-added", "rule-modified", "rule-removed"})


@dataclass(frozen=True, slots=True)
class Note:
    """A line of its own among the steps: an input, or a property that was found broken."""

    text: str
    broken: bool = False


Happening = Record | Note


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a picture, before it is drawn.

    `lane` is the component that is marked, if any, and `source` where an arrow comes from; an arrow without
    a lane leads nowhere.
    """

    number: int | None
    text: str
    lane: str = ""
    source: str = ""
    lost: bool = False
    """The packet that it is about got no further."""
    broken: bool = False


@dataclass(frozen=True, slots=True)
class _Signs:
    """What a picture is drawn with."""

    lane: str
    along: str
    across: str
    right: str
    left: str
    begins_right: str
    begins_left: str
    step: str
    lost: str
    broken: str
    more: str


_DRAWN: Final = _Signs("│", "─", "┼", "►", "◄", "├", "┤", "●", "×", "✗", "…")
_TYPED: Final = _Signs("|", "-", "+", ">", "<", "|", "|", "o", "x", "X", "~")


def picture(
    happenings: Iterable[tuple[int, Happening]],
    *,
    width: int,
    lanes: Sequence[str] | None = None,
    whole: bool = True,
    plain: bool = False,
) -> list[str]:
    """Return the lines of a picture that is at most `width` wide.

    `lanes` are the components in the order to draw them, by default those that took part.  With `whole`, what
    was sent and did not arrive is under way.  With `plain`, only ASCII is used.
    """
    found = list(happenings)
    if lanes is None:
        lanes = lanes_of(item for _, item in found if not isinstance(item, Note))
    return draw(rows_of(found, whole=whole), lanes, width=width, plain=plain)


def trace_picture(trace: Trace, choice: Choice, *, width: int, plain: bool = False) -> list[str]:
    """Return the picture of a trace, or of the part of it that was chosen; what was logged is left out."""
    lines, is_past = chosen_lines(trace, choice)
    happenings: list[tuple[int, Happening]] = []
    for line in lines:
        match line:
            case Line():
                happenings.append((line.number, record_of(line)))
            case InputLine():
                happenings.append((line.number, Note(f"Input: {line.text}")))
            case FindingLine():
                if line.verdict == "repeated":
                    continue
                news = "holds again" if line.verdict == "healed" else "is violated"
                happenings.append((line.number, Note(f"{line.invariant} {news}", line.verdict != "healed")))
            case LogLine():
                pass
            case _:
                assert_never(line)
    if trace.verdict is not None:
        happenings.append((0, broken_note(trace.verdict.property)))
    # The queues of a proof's abstract network are not channels, and an excerpt does not show all arrivals.
    whole = not is_past and choice.first is None and choice.last is None and not isinstance(trace, ProofTrace)
    return picture(happenings, width=width, whole=whole, plain=plain)


def broken_note(name: str) -> Note:
    """Return the line that says that a property is broken."""
    return Note(f"{name} is violated", broken=True)


# What there is to draw.


def rows_of(happenings: Sequence[tuple[int, Happening]], *, whole: bool = True) -> list[Row]:
    """Return the rows of a picture, in order."""
    under_way = _UnderWay()
    rows: list[Row] = []
    step: int | None = None
    for number, happening in happenings:
        if isinstance(happening, Note):
            if happening.broken and step is not None:
                rows[step] = replace(rows[step], broken=True)
            rows.append(Row(None, happening.text, broken=happening.broken))
            continue
        step = len(rows)
        rows += under_way.step(number, happening)
    return [*rows, *under_way.rest()] if whole else rows


class _Sent(NamedTuple):
    """A message on its way: the step that sent it, and the packet that it is about, if any."""

    step: int
    text: str
    about: str


class _UnderWay:
    """The messages on the channels of a run."""

    def __init__(self) -> None:
        self._queues: defaultdict[Endpoint, deque[_Sent]] = defaultdict(deque)

    def step(self, number: int, record: Record) -> Iterator[Row]:
        """Yield the rows of a step, and follow what it sent."""
        verb, node, what = record.transition
        channel = Endpoint(node, what)
        tag = _tag(map(str, (*record.sends, *record.events)))
        if verb == DELIVER:
            sent = self._pop_head(channel, record.message)
            tag = sent.about or tag
            text = sent.text + _since(sent, number) + _mishap(record)
            yield Row(number, text, record.node, node, lost=_is_dropped(record))
        elif verb == "drop":
            yield self._lost_row(number, number, channel, self._pop_head(channel, record.lost[0].message))
        else:
            if verb in CHANNEL_FAULTS:
                self._suffer(verb, self._queues[channel])
            yield Row(number, headline(record).rstrip(".") + _mishap(record), record.node)
        for end, message in record.sends:
            self._queues[end].append(_about(number, message, tag))
        for end, message in record.lost if verb != "drop" else ():
            # What the fabric cuts was on its way before; what others lose they sent just now.
            sent = self._pop_head(end, message) if record.node == FABRIC else _about(number, message, tag)
            yield self._lost_row(None, number, end, sent)

    def rest(self) -> Iterator[Row]:
        """Yield the rows of the messages that did not arrive."""
        for end, queue in self._queues.items():
            for sent in queue:
                yield Row(None, f"{sent.text} under way, sent in {sent.step}", source=end.node)

    def _lost_row(self, shown: int | None, number: int, end: Endpoint, sent: _Sent) -> Row:
        return Row(shown, f"lost: {sent.text}{_since(sent, number)}", source=end.node, lost=True)

    def _pop_head(self, channel: Endpoint, message: Message | None) -> _Sent:
        """Return the message at the head of a channel, which leaves it."""
        queue = self._queues[channel]
        return queue.popleft() if queue else _about(0, message, "")

    def _suffer(self, fault: str, queue: deque[_Sent]) -> None:
        """Have something go wrong at the head of a channel, which is as far as faults reach."""
        head = tuple(queue.popleft() for _ in range(min(2, len(queue))))
        suffered: tuple[object, ...] = CHANNEL_FAULTS[fault](head)
        queue.extendleft(each for each in reversed(suffered) if isinstance(each, _Sent))


def _about(step: int, message: Message | None, tag: str) -> _Sent:
    """Return a message with what it is about: the packet that it names, or that it was sent because of.

    It is called by its own name, with the packet where it carries one.
    """
    text = str(message)
    about = _tag([text]) or tag
    short = retell_packets(text, lambda found: found[1])
    # What a packet only led to, as a FlowMod, is not called after it.
    carries = about and about not in short and text.startswith(("PacketIn", "PacketOut"))
    return _Sent(step, f"{short} · {about}" if carries else short, about)


def _tag(texts: Iterable[str]) -> str:
    """Return the first name of a packet in some texts."""
    return next((found[1] for text in texts for found in packets_in(text)), "")


def _since(sent: _Sent, now: int) -> str:
    return f", sent in {sent.step}" if 0 < sent.step < now - 1 else ""


def _is_dropped(record: Record) -> bool:
    return any(event.kind == "dropped" for event in record.events)


def _mishap(record: Record) -> str:
    """Return what went wrong in a step, as far as it can be said in a word or two."""
    for event in record.events:
        match event.kind:
            case "dropped":
                return ", dropped"
            case "crashed":
                return f", raised {event.detail[1]}"
            case "hung":
                return ", does not return"
            case "refused":
                return ", refused"
    return ""


def lanes_of(records: Iterable[Record]) -> list[str]:
    """Return the components that took part: hosts, switches, the fabric, controllers, each by name."""
    kinds: dict[str, int] = {}

    def classify(name: str, kind: int) -> None:
        kinds[name] = max(kind, kinds.get(name, _HOST))

    for record in records:
        verb, node, what = record.transition
        classify(record.node, _HOST)
        if verb != ACT and verb != TIME:
            classify(node, _HOST)
        if any(event.kind in _OF_SWITCHES for event in record.events):
            classify(record.node, _SWITCH)
        if verb == ACT and str(what).startswith("join "):
            classify(node, _CONTROLLER)
            classify(str(what).removeprefix("join "), _SWITCH)
        if verb == DELIVER and str(record.message).startswith("PacketIn"):
            classify(node, _SWITCH)
            classify(record.node, _CONTROLLER)
        elif verb == DELIVER and isinstance(record.message, OpenFlowMessage):
            classify(record.node, _SWITCH)
            classify(node, _SWITCH)
        for end, _ in (*record.sends, *record.lost):
            classify(end.node, _HOST)
    if FABRIC in kinds:
        kinds[FABRIC] = _FABRIC
    return sorted(kinds, key=lambda name: (kinds[name], *_by_number(name)))


def _by_number(name: str) -> tuple[str, int, str]:
    """Return what puts s2 before s10."""
    digits = re.search(r"\d{1,9}", name)
    return (name[: digits.start()], int(digits[0]), name) if digits else (name, 0, name)


# Drawing it.


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the lanes are: the place of each component, and how wide they are."""

    heads: tuple[str, ...]
    places: dict[str, int]
    lane: int
    numbers: int
    width: int
    notes: tuple[str, ...]

    def middle(self, name: str) -> int:
        """Return the column of a component's lane."""
        return self.places[name] * self.lane + self.lane // 2


def draw(rows: Sequence[Row], lanes: Sequence[str], *, width: int, plain: bool = False) -> list[str]:
    """Return rows as lines of at most so many columns."""
    signs = _TYPED if plain else _DRAWN
    layout = _layout(rows, lanes, width)
    lines = [_headings(layout, signs)]
    lines += (_line(row, layout, signs) for row in rows)
    lines += (_cut(f"{signs.more} {note}", width, signs) for note in layout.notes)
    clean = (line.encode("ascii", "replace").decode() if plain else line for line in lines)
    return [line.rstrip() for line in clean]


def _layout(rows: Sequence[Row], lanes: Sequence[str], width: int) -> _Layout:
    """Give every component a lane, those that do least a common one where there are too many."""
    busy = Counter(name for row in rows for name in (row.lane, row.source) if name)
    names = list(dict.fromkeys((*lanes, *busy)))
    numbers = max((len(str(row.number)) for row in rows if row.number is not None), default=1) + 2
    room = max(width - numbers - _LEAST_TEXT, _NARROWEST_LANE)
    longest = max(map(cell_len, names), default=1)
    # The lanes may be as wide as is nice if enough room for the texts is left.
    nice = (width - numbers - _ENOUGH_TEXT) // max(len(names), 1)
    lane = max(_NARROWEST_LANE, min(_WIDEST_LANE, longest + 3, nice))
    fitting = max(room // lane, 1)
    if len(names) <= fitting:
        places = {name: place for place, name in enumerate(names)}
        return _Layout(tuple(names), places, lane, numbers, width, ())
    kept = {name for name, _ in busy.most_common(fitting - 1)}
    own = [name for name in names if name in kept]
    others = [name for name in names if name not in kept]
    places = {name: place for place, name in enumerate(own)} | dict.fromkeys(others, len(own))
    note = f"one lane for {', '.join(map(on_one_line, others))}"
    return _Layout((*own, f"+{len(others)}"), places, lane, numbers, width, (note,))


def _headings(layout: _Layout, signs: _Signs) -> str:
    cells = []
    for name in layout.heads:
        shown = _cut(on_one_line(name), layout.lane - 1, signs)
        before = max(0, layout.lane // 2 - (cell_len(shown) - 1) // 2)
        cells.append(set_cell_size(" " * before + shown, layout.lane))
    return set_cell_size(" " * layout.numbers + "".join(cells), layout.width)


def _line(row: Row, layout: _Layout, signs: _Signs) -> str:
    cells = _lanes(row, layout, signs)
    number = f"{row.number}." if row.number is not None else signs.broken if row.broken else ""
    text = row.text
    if row.source and row.lane and layout.places[row.source] == layout.places[row.lane]:
        text = f"{row.source} to {row.lane}: {text}"
    text = on_one_line(text[:_LONGEST_TEXT])
    line = f"{number:>{layout.numbers - 1}} {''.join(cells)} {text}"
    return _cut(line, layout.width, signs)


def _lanes(row: Row, layout: _Layout, signs: _Signs) -> list[str]:
    """Return the part of a line that has the lanes, character by character."""
    cells = [" "] * (len(layout.heads) * layout.lane + 1)
    for place in range(len(layout.heads)):
        cells[place * layout.lane + layout.lane // 2] = signs.lane
    if row.source:
        _arrow(cells, row, layout, signs)
    if row.lane:
        mark = signs.broken if row.broken else signs.lost if row.lost else signs.step
        cells[layout.middle(row.lane)] = mark
    return cells


def _arrow(cells: list[str], row: Row, layout: _Layout, signs: _Signs) -> None:
    begin = layout.middle(row.source)
    if not row.lane:
        cells[begin] = signs.begins_right
        cells[begin + 1] = signs.lost if row.lost else signs.right
        return
    end = layout.middle(row.lane)
    if begin == end:
        cells[begin + 1] = signs.left
        return
    onward = 1 if begin < end else -1
    for column in range(begin + onward, end - onward, onward):
        cells[column] = signs.across if cells[column] == signs.lane else signs.along
    cells[begin] = signs.begins_right if onward > 0 else signs.begins_left
    cells[end - onward] = signs.right if onward > 0 else signs.left


def _cut(text: str, width: int, signs: _Signs) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + signs.more if width > 1 else set_cell_size(text, width)
