"""Reading topologies that were written for Mininet: `load_mininet("file.py")`.

The file is run as `mn --custom` would run it, but always against Penstock's stand-in for Mininet
(see `mininet_standin`), installed or not: so the result is the same on every machine, and loading
a file never starts, stops or cleans up a network.  Neither the stand-in nor the file stays behind
in `sys.modules`.

What a topology says beyond its shape is read where the model has a use for it: `ip`, `mac` and `dpid` of
nodes, and those options of links that are numbers or text (`bw`, `delay`, `loss` …).  Classes
given for nodes and links are not: every switch is an OpenFlow switch and every other node a host.
Addresses of a host's further network cards (`params1={"ip": …}`) are not read either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from penstock._base.code_files import note_imports
from penstock._base.files import nearest
from penstock._base.users_code import bar_while_looking, file_of
from penstock._world.topology.builder import TopologyBuilder
from penstock._world.topology.mininet_standin import StandInFinder, is_mininet
from penstock._world.topology.mininet_topo import Topo
from penstock._world.topology.value import LinkOption, Topology
from penstock.errors import PenstockError

_UNADDRESSED = "0.0.0.0"
_NOT_OPTIONS = {"node1", "node2", "port1", "port2"}


def load_mininet(path: str | Path, name: str | None = None, **args: object) -> Topology:
    """Return the topology in a file written for `mn --custom`.

    `name` is a key of the file's `topos` or the name of one of its `Topo` classes, needed only if
    there are several.  Arguments are given by keyword, or after the name, as in `mytopo,3`.
    """
    file = Path(path)
    bar_while_looking(f"The Mininet file {file.name}")
    if file.suffix != ".py":
        raise PenstockError(f"{path} is not a Mininet file: give a .py file with a Topo.")
    try:
        source = file.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise PenstockError(f"The Mininet file {path} cannot be read ({reason}): check its path.") from None
    wanted, positional, keywords = _split_name(name)
    with _stand_in(file), _explaining(file):
        topo = _recipe(_run(file, source), wanted)(*positional, **keywords, **args)
        if not isinstance(topo, Topo):
            raise PenstockError(f"Expected a Topo, got {type(topo).__name__}: return a Topo.")
        return from_mininet(topo)


def from_mininet(topo: Any) -> Topology:
    """Return the topology that a Mininet `Topo` object describes, the real class or the stand-in."""
    builder = TopologyBuilder()
    for name in topo.hosts():
        info = topo.nodeInfo(name)
        ip = _UNADDRESSED if "ip" in info and info["ip"] is None else info.get("ip")
        builder.add_host(name, mac=info.get("mac"), ip=ip)
    for name in topo.switches():
        builder.add_switch(name, dpid=topo.nodeInfo(name).get("dpid"))
    for _, _, info in topo.links(sort=True, withInfo=True):
        builder.add_link(info["node1"], info["node2"], info["port1"], info["port2"], **_options(info))
    return builder.build()


def _options(info: Mapping[str, Any]) -> dict[str, LinkOption]:
    return {
        name: value
        for name, value in info.items()
        if name not in _NOT_OPTIONS and isinstance(value, str | int | float | bool)
    }


def _split_name(name: str | None) -> tuple[str | None, list[object], dict[str, object]]:
    """Split `mytopo,3,n=2` into the name, what comes by position, and what by keyword."""
    if name is None:
        return None, [], {}
    wanted, *parts = name.split(",")
    positional = [_argument(part) for part in parts if "=" not in part]
    keywords = {
        key: _argument(value) for key, equals, value in (part.partition("=") for part in parts) if equals
    }
    return wanted, positional, keywords


def _argument(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@contextmanager
def _stand_in(file: Path) -> Iterator[None]:
    """Let imports see the stand-in and the file's own folder, then put everything back."""
    real = {name: sys.modules.pop(name) for name in list(sys.modules) if is_mininet(name)}
    before, path, argv = set(sys.modules), list(sys.path), sys.argv
    finder = StandInFinder()
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, str(file.parent.resolve()))
    sys.argv = [str(file)]
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.argv = argv
        sys.path[:] = path
        sys.meta_path.remove(finder)
        brought = {name for name in set(sys.modules) - before if _came_with(name, file.parent.resolve())}
        note_imports([file], (file_of(sys.modules[name]) for name in brought))
        for name in brought:
            del sys.modules[name]
        sys.modules.update(real)


def _came_with(name: str, folder: Path) -> bool:
    """Tell whether a module is the stand-in's, or one from the file's folder, which has no name elsewhere."""
    top = name.partition(".")[0]
    origin = getattr(sys.modules.get(top), "__file__", None)
    return is_mininet(name) or (
        origin is not None and Path(origin).resolve().parent in (folder, folder / top)
    )


@contextmanager
def _explaining(file: Path) -> Iterator[None]:
    """Turn whatever the file raises, `sys.exit` included, into one sentence with the line it came from."""
    try:
        yield
    except (Exception, SystemExit) as error:
        line = _line(file, error)
        place = f"{nearest(file)}:{line}" if line else nearest(file)
        if isinstance(error, PenstockError):
            raise PenstockError(f"{place}: {error}") from error
        said = " ".join(str(error).split())
        what = f"{type(error).__name__} ({said})" if said else type(error).__name__
        raise PenstockError(
            f"{place}: loading this Mininet file raised {what}: {_remedy(error, line)}."
        ) from error


def _remedy(error: BaseException, line: int | None) -> str:
    if isinstance(error, TypeError) and line is None:
        return "pass the arguments its topology wants, after its name or by keyword"
    return "fix it there, and keep what is not the topology below if __name__ == '__main__'"


def _line(file: Path, error: BaseException) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno
    frames = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
    return frames[-1] if frames else None


def _run(file: Path, source: bytes) -> ModuleType:
    module = ModuleType(f"mininet_file_{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    exec(compile(source, str(file), "exec", dont_inherit=True), vars(module))
    return module


def _recipe(module: ModuleType, wanted: str | None) -> Callable[..., object]:
    """Return what makes the wanted topology: an entry of `topos`, or else a class the file defines."""
    named = getattr(module, "topos", {})
    if not isinstance(named, dict):
        raise PenstockError("Its topos is not a dictionary: write topos = {'mytopo': MyTopo}.")
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Topo) and value.__module__ == module.__name__
    }
    choices = {str(name): recipe for name, recipe in (named or classes).items()}
    names = ", ".join(choices)
    if not choices:
        raise PenstockError("It defines no topology: add a subclass of Topo, or topos = {'mytopo': MyTopo}.")
    if wanted is None and len(choices) > 1:
        raise PenstockError(f"It has several topologies: name one of {names}.")
    recipe = {**classes, **choices}.get(wanted or names)
    if recipe is None:
        raise PenstockError(f"It has no topology {wanted!r}: name one of {names}.")
    if not callable(recipe):
        raise PenstockError(
            f"Its topos[{wanted or names!r}] is no class or function: write MyTopo, not MyTopo()."
        )
    return recipe
