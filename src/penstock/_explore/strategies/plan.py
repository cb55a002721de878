"""From the names of strategies to a plan: what bounds, what narrows and what orders a search.

    strategies = ["no-delay", {name = "delay-bounded", delays = 2}, "pkt-seq:count=3,burst=2"]

A name may have options after a colon, or be a table with them.  One of a user's own is `file.py:Name`, a
subclass of `Narrowing` or `Ordering`; installed packages register theirs by the entry points
`penstock.strategies`.  Any number of strategies may narrow a search; one may order it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from penstock._base.text import hint
from penstock._base.typed import fit_options
from penstock._base.users_code import load_object, run_users
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Outcome
from penstock._explore.strategies.base import Narrowing, Ordering, Strategy
from penstock._explore.strategies.delay_bounded import DelayBounded
from penstock._explore.strategies.flow_ir import FlowIndependence
from penstock._explore.strategies.guide import Guide, Pick
from penstock._explore.strategies.kinds import Options
from penstock._explore.strategies.no_delay import NoDelay
from penstock._explore.strategies.pkt_seq import PacketSequences
from penstock._explore.strategies.races import Races
from penstock._explore.strategies.random_walks import RandomWalks
from penstock._explore.strategies.unusual import Unusual
from penstock._properties.base import Property
from penstock._verdict.verdict import Bound, Why
from penstock.errors import PenstockError

STRATEGIES: Final[Mapping[str, type[Strategy]]] = {
    kind.name: kind
    for kind in (PacketSequences, NoDelay, Unusual, FlowIndependence, DelayBounded, RandomWalks, Races)
}


GROUP: Final = "penstock.strategies"
"""The entry points by which installed packages register strategies."""

_IN_FILE: Final = ".py:"


@dataclass(frozen=True, slots=True)
class Plan:
    """The strategies of one search."""

    strategies: tuple[Strategy, ...] = ()

    @property
    def bounding(self) -> PacketSequences | None:
        """What bounds the hosts, if anything does."""
        return next((each for each in self.strategies if isinstance(each, PacketSequences)), None)

    @property
    def narrowing(self) -> tuple[Narrowing, ...]:
        """What leaves transitions out."""
        return tuple(each for each in self.strategies if isinstance(each, Narrowing))

    @property
    def ordering(self) -> Ordering | None:
        """What decides which state comes next, if not the scenario's order."""
        return next((each for each in self.strategies if isinstance(each, Ordering)), None)

    @property
    def remembers(self) -> bool:
        """Whether the states that were visited are remembered."""
        return self.ordering is None or self.ordering.remembers

    def watchers(self) -> tuple[Property, ...]:
        """Return what the strategies must remember of a run, for `CompiledNetwork` to keep."""
        found = (each.watcher() for each in self.narrowing)
        return tuple(watcher for watcher in found if watcher is not None)

    def guide(self, cells: CompiledNetwork) -> Guide:
        """Return what the strategies take in the states of a compiled network."""
        return Guide(cells, [_guarded(each, cells) for each in self.narrowing])

    def conclude(self, outcome: Outcome, guide: Guide) -> None:
        """Say in an outcome what the strategies may have missed: then nothing was exhausted."""
        for watcher in self.watchers():
            outcome.exercised.pop(watcher.name, None)
        limiting = []
        for each in self.strategies:
            if isinstance(each, Narrowing) and not guide.narrowed:
                outcome.remarks.append(f"{each.name}: it left nothing out.")
            elif isinstance(each, Ordering):
                if each.remark and outcome.result == "bounded":
                    outcome.remarks.append(each.remark)
            else:
                outcome.remarks.append(each.remark)
                limiting.append(each.name)
        if limiting and outcome.result == "exhausted":
            outcome.result = "bounded"
            outcome.stopped_by = Bound(f"the limits of {' and '.join(limiting)}", Why.NARROWED)


def _guarded(strategy: Narrowing, cells: CompiledNetwork) -> Pick:
    """Return how a strategy picks; of a user's own, what it raises is said in one sentence."""
    if type(strategy).__module__.startswith("penstock."):
        return strategy.pick(cells)
    what = f"The strategy {strategy.name}"
    picks = run_users(what, strategy.pick, cells)

    def pick(state: int, options: Options) -> int:
        picked = run_users(what, picks, state, options)
        if not isinstance(picked, int) or picked & ~options.every or (options.every and not picked):
            raise PenstockError(f"{what} picked {picked!r}, which is no set of options that has any in it.")
        return picked

    return pick


def plan_of(given: Sequence[object], folder: Path) -> Plan:
    """Return the plan that names and tables of strategies describe; files are looked for in a folder."""
    made = tuple(each if isinstance(each, Strategy) else _strategy(each, folder) for each in given)
    names = [each.name for each in made]
    for name in names:
        if names.count(name) > 1:
            raise PenstockError(f"The strategy {name} is named twice: name it once.")
    orders = [each.name for each in made if isinstance(each, Ordering)]
    if len(orders) > 1:
        raise PenstockError(
            f"The strategies {' and '.join(orders)} each have an order of their own: use one of them."
        )
    return Plan(made)


def without_code(given: Iterable[object]) -> tuple[object, ...]:
    """Return those of some strategies that can be looked at without running code of a user's file."""
    return tuple(each for each in given if not _names_code(each))


def _names_code(given: object) -> bool:
    values = given.values() if isinstance(given, Mapping) else [given]
    return any(isinstance(value, str) and _IN_FILE in value for value in values)


def _strategy(given: object, folder: Path) -> Strategy:
    if isinstance(given, str):
        options = _spelt(given)
    elif isinstance(given, Mapping):
        options = dict(given)
    else:
        raise PenstockError(f"{given!r} is not a strategy: write its name, or a table with name and options.")
    if "name" not in options:
        raise PenstockError(f'The strategy {options!r} has no name: write name = "…" into its table.')
    name = options.pop("name")
    kind = _kind(name, folder) if isinstance(name, str) else None
    if kind is None:
        known = (*STRATEGIES, *registered())
        otherwise = f"the strategies are {', '.join(known)}, or file.py:Name."
        raise PenstockError(f"unknown strategy {name!r}: {hint(name, known, otherwise)}")
    if isinstance(same := options.get("is_same_flow"), str):
        options["is_same_flow"] = load_object(same, folder, "is_same_flow")
    return kind(**fit_options(kind, options, f"the strategy {name}"))


def _kind(name: str, folder: Path) -> type[Strategy] | None:
    """Return the class of a strategy: the library's, an installed package's, or one in a user's file."""
    if _IN_FILE not in name:
        return STRATEGIES.get(name) or registered().get(name)
    return _as_strategy(load_object(name, folder, "strategy"), name)


def _as_strategy(found: object, name: str) -> type[Strategy]:
    if not isinstance(found, type) or not issubclass(found, Narrowing | Ordering):
        raise PenstockError(f"{name} is not a strategy: name a subclass of Narrowing or Ordering.")
    if not isinstance(getattr(found, "name", None), str):
        raise PenstockError(f'{name} has no name: write name = "…" into the class.')
    return found


@cache
def registered() -> Mapping[str, type[Strategy]]:
    """Return the strategies of installed packages, by name."""
    from importlib.metadata import entry_points  # which is slow to import, and hardly ever asked

    return {
        each.name: _as_strategy(run_users(f"The strategy {each.name} of {each.value}", each.load), each.name)
        for each in entry_points(group=GROUP)
        if each.name not in STRATEGIES
    }


def _spelt(text: str) -> dict[str, Any]:
    """Return the table that `name:key=value,key=value` stands for."""
    name, _, rest = text.partition(":")
    if name.endswith(".py"):
        inside, _, rest = rest.partition(":")
        name = f"{name}:{inside}"
    options: dict[str, Any] = {"name": name}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise PenstockError(
                f"{part!r} in the strategy {text!r} is not an option: write {name}:key=value."
            )
        if key in options:
            raise PenstockError(f"The option {key!r} stands twice in the strategy {text!r}: give it once.")
        options[key] = int(value) if value.removeprefix("-").isdecimal() else value
    return options
