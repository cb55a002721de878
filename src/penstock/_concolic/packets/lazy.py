"""Objects that pass for headers, some of whose attributes are worked out when they are asked for.

What the attribute is depends on the frame's shape: the payload of an Ethernet frame is an ARP packet
or an IPv4 datagram or bytes.  To find out decides something, so it has to wait until somebody wants
to know.  Every time somebody does, the run is asked again: it remembers what it has decided, and what
was looked at unnoticed is not decided yet.

The objects say that they are of the class they stand for, so that `isinstance`, `match`, comparisons
and `dataclasses.replace` go on as ever; only `type` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock._concolic.packets.frames import SymFrame
from penstock._concolic.run import lose, unnoticed
from penstock._concolic.values.escapes import Symbolic
from penstock._concolic.values.parts import concrete

Work = Callable[[SymFrame, Any], Any]
"""Works an attribute out: from the frame, and from what it is in the frame that happens to be there."""

_FRAME: Final = "_frame_followed"
_NAMES: Final = "_names_followed"
_FOUND: Final = "_found_"


def stand_in(
    kind: type, work: Mapping[str, Work], methods: Mapping[str, Callable[..., Any]] | None = None
) -> type:
    """Return a class that stands for another one, whose instances work these attributes out."""
    kind_of_kind: Any = type(kind)
    members: dict[str, Any] = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__class__": property(lambda _: kind),
        "__dir__": lambda self: [*object.__dir__(self), *work],
        "__repr__": _text(kind),
        "__str__": _text(kind),
        "plain": property(_plain),
        **(methods or {}),
    }
    for name, how in work.items():
        members[name] = _worked_out(name, how)
    made: type = kind_of_kind(kind.__name__, (kind, Symbolic), members)
    return made


def instance(made: type, frame: SymFrame, attributes: Mapping[str, Any]) -> Any:
    """Return an object of such a class; what it works out, it does so from its frame."""
    found: Any = object.__new__(made)
    own = vars(found)
    own[_FRAME] = frame
    own[_NAMES] = tuple(attributes)
    for name, value in attributes.items():
        if isinstance(getattr(made, name, None), property):
            own[_FOUND + name] = value
        else:
            object.__setattr__(found, name, value)
    return found


def frame_of(thing: Any) -> SymFrame:
    """Return the frame that such an object was made for."""
    frame: SymFrame = vars(thing)[_FRAME]
    return frame


def _worked_out(name: str, how: Work) -> property:
    def get(self: Any) -> Any:
        own = vars(self)
        return own[name] if name in own else how(own[_FRAME], own[_FOUND + name])

    def put(self: Any, value: Any) -> None:
        vars(self)[name] = value

    return property(get, put)


def _plain(self: Any) -> Any:
    """Return the object as it is in the frame that happens to be there, and no more than that."""
    found = object.__new__(self.__class__)
    with unnoticed():
        for name in vars(self)[_NAMES]:
            object.__setattr__(found, name, concrete(getattr(self, name)))
    return found


def _text(kind: type) -> Callable[[Any], str]:
    def text(self: Any) -> str:
        lose(f"the text of {kind.__name__}")
        return repr(_plain(self))

    return text
