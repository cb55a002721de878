"""Real modules, rewritten, still do what they did."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import os_ken.lib
import pytest
from tests.required_tools import do_without

from penstock._base import ryu_names
from penstock._concolic.code import rewrite
from penstock._concolic.run import MARK
from penstock._controllers.osken import framework
from penstock._controllers.osken.binding import OsKenController
from penstock.openflow.messages import FeaturesReply


def followed_copy(name: str) -> ModuleType:
    """Return a module of the same source as another one, followed, under the same name."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    module = importlib.util.module_from_spec(spec)
    original = sys.modules.get(name)
    rewrite.equip(module)  # which may import what needs the original
    # Some modules look themselves up while they are run.
    sys.modules[name] = module
    try:
        source = importlib.util.decode_source(Path(spec.origin).read_bytes())
        exec(rewrite.followed(source, spec.origin), vars(module))
    finally:
        if original is None:
            del sys.modules[name]
        else:
            sys.modules[name] = original
    return module


def of_ipaddress(module: Any) -> Any:
    network = module.ip_network("10.0.0.0/22")
    return [
        [str(part) for part in network.subnets(2)],
        [str(part) for part in network.address_exclude(module.ip_network("10.0.1.0/24"))],
        [str(part) for part in module.summarize_address_range(*map(module.ip_address, ("::1", "::9")))],
        module.ip_address("2001:db8::1").exploded,
        module.ip_address("10.0.0.1").packed,
        f"{module.ip_address('10.0.0.1'):x}",
        [module.ip_address(text).is_private for text in ("10.0.0.1", "8.8.8.8", "fe80::1")],
        _failure(module.ip_network, "10.0.0.1/24"),
    ]


def of_textwrap(module: Any) -> Any:
    text = "The quick brown fox, that jumps-over the lazy dog.  " * 4
    return (
        module.wrap(text, 17),
        module.shorten(text, 30),
        module.dedent("  a\n   b\n  c"),
        module.indent("a\nb", "> "),
    )


def of_fractions(module: Any) -> Any:
    third, half = module.Fraction(1, 3), module.Fraction("0.5")
    return (
        str(third + half),
        float(half / third),
        third.limit_denominator(2) == 0,
        round(third * 10),
        hash(half),
    )


def of_json(module: Any) -> Any:
    decoder = module.JSONDecoder(object_pairs_hook=list)
    text = '{"a": [1, 2.5, null, true, {"b": "\\u00e9\\n"}], "c": -3e2}'
    return decoder.decode(text), decoder.raw_decode(text + " x"), _failure(decoder.decode, '{"a": }')


def of_argparse(module: Any) -> Any:
    parser = module.ArgumentParser(prog="p", description="%(prog)s does things")
    parser.add_argument("--count", "-c", type=int, default=3, help="how many (%(default)s)")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--kind", choices=["a", "b"])
    sub = module.ArgumentParser(parents=[parser], add_help=False, prog="q")
    return (
        vars(parser.parse_args(["-c", "5", "x", "y", "--kind=b"])),
        parser.format_help(),
        sub.format_usage(),
    )


def of_difflib(module: Any) -> Any:
    one, other = "the cat sat\non the mat\n".splitlines(True), "the dog sat\non a mat\n".splitlines(True)
    matcher = module.SequenceMatcher(None, "private volatile", "private Thread volatile")
    return [
        list(module.unified_diff(one, other)),
        list(module.ndiff(one, other)),
        matcher.get_opcodes(),
        round(matcher.ratio(), 6),
        module.get_close_matches("appel", ["ape", "apple", "peach"]),
    ]


def of_dataclasses(module: Any) -> Any:
    @module.dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: int = module.field(default=2, compare=False)
        tags: list[str] = module.field(default_factory=list, repr=False)

    made: Any = Point
    point = made(1)
    moved = module.replace(point, x=3)
    return repr(moved), moved > point, module.asdict(moved), [f.name for f in module.fields(Point)]


def of_heap(module: Any) -> Any:
    heap: list[int] = []
    for number in (5, 1, 4, 2):
        module.heappush(heap, number)
    return (
        [module.heappop(heap) for _ in range(4)],
        list(module.merge([1, 4], [2, 3])),
        module.nlargest(2, [3, 9, 4]),
    )


def of_string(module: Any) -> Any:
    template = module.Template("$who likes ${what}, $$5")
    return template.substitute(who="tim", what="kung pao"), module.Formatter().format(
        "{0:>{1}}|{a[0]}", 1, 4, a=[7]
    )


def of_shlex(module: Any) -> Any:
    return module.split('a \'b c\' "d\\"e" f#g'), module.quote("it's"), module.join(["a b", "c"])


def of_statistics(module: Any) -> Any:
    return module.mean([1, 2, 4]), module.median([3, 1, 2]), module.mode("aab"), module.pstdev([1, 2, 3, 4])


def of_configparser(module: Any) -> Any:
    parser = module.ConfigParser()
    parser.read_string("[DEFAULT]\na = 1\n[x]\nb = %(a)s2\n[y]\nc: yes\n")
    return (
        {name: dict(parser[name]) for name in parser},
        parser["y"].getboolean("c"),
        parser.has_option("x", "z"),
    )


def of_graphlib(module: Any) -> Any:
    sorter = module.TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": {"a"}})
    order = list(sorter.static_order())
    return (
        order[0],
        order[-1],
        _failure(lambda: list(module.TopologicalSorter({1: {2}, 2: {1}}).static_order())),
    )


def _failure(function: Callable[..., Any], *arguments: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        function(*arguments)
    return caught.typename, str(caught.value)


CHECKS: dict[str, Callable[[Any], Any]] = {
    "ipaddress": of_ipaddress,
    "textwrap": of_textwrap,
    "fractions": of_fractions,
    "json.decoder": of_json,
    "argparse": of_argparse,
    "difflib": of_difflib,
    "dataclasses": of_dataclasses,
    "heapq": of_heap,
    "string": of_string,
    "shlex": of_shlex,
    "statistics": of_statistics,
    "configparser": of_configparser,
    "graphlib": of_graphlib,
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_module_of_the_standard_library_gives_the_same_results(name: str) -> None:
    followed = followed_copy(name)
    assert MARK in vars(followed)
    assert CHECKS[name](followed) == CHECKS[name](importlib.import_module(name))


OS_KEN_LIBRARIES = sorted(
    f"os_ken.lib.{path.stem}"
    for path in Path(os_ken.lib.__path__[0]).glob("*.py")
    if path.stem not in ("__init__", "hub", "rpc", "ofctl_nicira_ext")
)


def test_the_libraries_of_os_ken_can_be_followed() -> None:
    framework.install()
    assert len(OS_KEN_LIBRARIES) > 20
    for name in OS_KEN_LIBRARIES:
        followed, plain = followed_copy(name), importlib.import_module(name)
        assert _own_names(followed) == _own_names(plain), name


def _own_names(module: ModuleType) -> set[str]:
    """Return the variables of a module that are neither Python's nor a hook, if it is followed already.

    A module that an app imported by Ryu's name has a `__path__` from then on.
    """
    pythons = ("__builtins__", "__cached__", "__path__")
    return {key for key in vars(module) if key not in pythons and not key.startswith("__penstock_")}


APPS = sorted(
    path.stem
    for folder in ryu_names.source_folders()
    for path in (folder / "app").glob("*.py")
    if path.stem not in ("__init__", "bmpstation", "cbench", "conf_switch_key", "wsgi")
)


def test_every_app_of_ryu_can_be_rewritten() -> None:
    if not APPS:
        do_without("The sources of Ryu are missing: make setup fetches them.")
    for folder in ryu_names.source_folders():
        for path in (folder / "app").rglob("*.py"):
            source = importlib.util.decode_source(path.read_bytes())
            plain = compile(source, str(path), "exec", dont_inherit=True)
            assert rewrite.followed(source, str(path)).co_names[:1] == plain.co_names[:1]


@pytest.mark.parametrize(
    "app",
    [
        *("simple_switch", "simple_switch_13", "simple_switch_igmp_13", "simple_switch_lacp_13"),
        *("simple_switch_stp_13", "simple_monitor_13", "rest_firewall", "rest_router", "rest_qos"),
    ],
)
def test_an_app_of_ryu_starts_and_shakes_hands_followed_as_it_does_plain(app: str) -> None:
    if app not in APPS:
        do_without("The sources of Ryu are missing: make setup fetches them.")
    steps = []
    for followed in (True, False):
        controller = OsKenController((f"ryu.app.{app}",), {"s1": 1}, followed=followed)
        (module,) = (module for module in controller.modules() if module.__name__ == f"ryu.app.{app}")
        assert (MARK in vars(module)) is followed
        step = controller.act(controller.initial(), "join s1")
        state = controller.receive(step.state, "s1", FeaturesReply(1, 0, 1, 0))
        steps.append((step.sends, step.events, state.sends, state.events))
    assert steps[0] == steps[1]
