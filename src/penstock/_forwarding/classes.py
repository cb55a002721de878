"""The classes of packets that a network tells apart, kept up change by change.

This is APKeep's idea (NSDI'20, §4): an *element* is something that treats packets in one of several ways, a
table at a port for instance, and a *class* is all packets that every element treats alike.  When a rule
changes, some packets go over to another behaviour of one element (`Partition.move`): the classes that have
such packets are split, and parts that are now treated like another class join it.

A *write* in use is an element too, whose behaviour is the number of the class that it leads to.  When packets
change their class, those that a write turns into them are moved at its element, and so on until nothing
moves; then classes are stable under all writes, each within the region where it is used.

What has happened is noted in `journal`, in order, for those who keep something per class.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from random import Random
from typing import Final, NamedTuple

from penstock._forwarding.sets import NUMBER_BITS, PacketSet, PacketSpace
from penstock.errors import PenstockError

Behaviour = Hashable
"""What an element does with a packet; None is what it does with packets that nobody spoke of."""

MOST_CLASSES: Final = 1 << NUMBER_BITS

_SIGNATURE_BITS: Final = 96


class PacketClass:
    """Packets that every element treats alike, and how each does that is not None."""

    __slots__ = ("behaviours", "number", "packets", "signature")

    def __init__(self, number: int, packets: PacketSet, behaviours: dict[int, Behaviour], signature: int):
        self.number, self.packets = number, packets
        self.behaviours, self.signature = behaviours, signature

    def __repr__(self) -> str:
        return f"class {self.number}"


class Split(NamedTuple):
    """Some packets of a class are a class of their own from now on."""

    new: PacketClass
    old: PacketClass


class Joined(NamedTuple):
    """Packets of one class are in another from now on: `whole` tells that none is left."""

    left: PacketClass
    joined: PacketClass
    whole: bool


class Changed(NamedTuple):
    """A whole class is treated otherwise by an element."""

    where: PacketClass
    element: int


Event = Split | Joined | Changed


class Write(NamedTuple):
    """Values for some bits of the header, and the element of that write."""

    element: int
    written: int
    values: int


class Partition:
    """All packets of a universe by their classes: no two classes are treated alike by all elements."""

    def __init__(self, space: PacketSpace, universe: PacketSet) -> None:
        self.space, self.universe = space, universe
        first = PacketClass(0, universe, {}, 0)
        self.classes = {0: first}
        self.journal: list[Event] = []
        self._by_signature = {0: first}
        self._relation = space.meet(universe, space.numbered(0))
        self._elements = 0
        self._free: list[int] = []
        self._freed: list[int] = []
        self._numbers = 1
        self._keys: dict[tuple[int, Behaviour], int] = {}
        self._random = Random(7)
        self._writes: dict[tuple[int, int], Write] = {}
        self._regions: dict[int, PacketSet] = {}
        self._work: deque[tuple[int, Behaviour, PacketSet]] = deque()

    def new_element(self) -> int:
        """Return the number of an element that treats all packets as None."""
        self._elements += 1
        return self._elements - 1

    def copy_element(self, element: int) -> int:
        """Return an element that treats all packets as another does."""
        copy = self.new_element()
        for one in self.classes.values():
            behaviour = one.behaviours.get(element)
            if behaviour is not None:
                one.behaviours[copy] = behaviour
                one.signature ^= self._key(copy, behaviour)
        self._by_signature = {one.signature: one for one in self.classes.values()}
        return copy

    def touching(self, packets: PacketSet) -> list[PacketClass]:
        """Return the classes that share packets with a set."""
        return [self.classes[number] for number in self.space.numbers(self._relation, packets)]

    def of(self, header: int) -> PacketClass | None:
        """Return the class of a packet, or None of a packet outside of the universe."""
        number = self.space.number_of(self._relation, header)
        return None if number is None else self.classes[number]

    def is_there(self, one: PacketClass) -> bool:
        """Tell whether a class has not been joined to another."""
        return self.classes.get(one.number) is one

    # Changes.

    def move(self, element: int, behaviour: Behaviour, packets: PacketSet) -> None:
        """Have an element treat packets in one way from now on."""
        self._work.append((element, behaviour, packets))
        self._settle()

    def _settle(self) -> None:
        work, nothing, meet = self._work, self.space.nothing, self.space.meet
        while work:
            element, behaviour, packets = work.popleft()
            if packets == nothing:
                continue
            for one in self.touching(packets):
                if one.behaviours.get(element) != behaviour:
                    self._assign(one, meet(one.packets, packets), element, behaviour)
        if self._freed:
            self._free += self._freed
            self._freed.clear()

    def _key(self, element: int, behaviour: Behaviour) -> int:
        if behaviour is None:
            return 0
        found = self._keys.get((element, behaviour))
        if found is None:
            found = self._keys[element, behaviour] = self._random.getrandbits(_SIGNATURE_BITS)
        return found

    def _assign(self, one: PacketClass, part: PacketSet, element: int, behaviour: Behaviour) -> None:
        """Have an element treat a part of a class in another way than before."""
        space, journal = self.space, self.journal
        whole = part == one.packets
        before = one.behaviours.get(element)
        signature = one.signature ^ self._key(element, before) ^ self._key(element, behaviour)
        other = self._by_signature.get(signature)
        if other is not None and not _is_like(other, one, element, behaviour):
            other = None
        if whole and other is None:
            del self._by_signature[one.signature]
            _put(one.behaviours, element, behaviour)
            one.signature = signature
            self._by_signature[signature] = one
            journal.append(Changed(one, element))
            return
        if other is None:
            behaviours = one.behaviours.copy()
            _put(behaviours, element, behaviour)
            other = PacketClass(self._new_number(), part, behaviours, signature)
            self.classes[other.number] = self._by_signature[signature] = other
            journal.append(Split(other, one))
            journal.append(Changed(other, element))
        else:
            other.packets = space.join(other.packets, part)
            journal.append(Joined(one, other, whole))
        if whole:
            del self._by_signature[one.signature], self.classes[one.number]
            self._freed.append(one.number)
        else:
            one.packets = space.less(one.packets, part)
        self._relation = space.choose(part, space.numbered(other.number), self._relation)
        for write in self._writes.values():
            self._lead(write, part, other.number)

    def _new_number(self) -> int:
        if self._free:
            return self._free.pop()
        if self._numbers == MOST_CLASSES:
            raise PenstockError(
                f"The tables tell more than {MOST_CLASSES:,} classes of packets apart: "
                "look at fewer switches, or at fewer rules, at once."
            )
        self._numbers += 1
        return self._numbers - 1

    # Writes.

    def write(self, written: int, values: int) -> Write:
        """Return a write, which is nowhere used as long as no region was given."""
        key = written, values
        found = self._writes.get(key)
        if found is None:
            found = self._writes[key] = Write(self.new_element(), written, values)
            self._regions[found.element] = self.space.nothing
        return found

    def use(self, write: Write, region: PacketSet) -> None:
        """Have a write used for some more packets."""
        space = self.space
        new = space.less(region, self._regions[write.element])
        if new == space.nothing:
            return
        self._regions[write.element] = space.join(self._regions[write.element], new)
        for target in self.touching(space.image(new, write.written, write.values)):
            before = space.preimage(target.packets, write.written, write.values)
            self._work.append((write.element, target.number, space.meet(before, new)))
        self._settle()

    def target(self, one: PacketClass, write: Write) -> PacketClass | None:
        """Return the class that a write leads to, or None where it was not said that it is used."""
        number = one.behaviours.get(write.element)
        if number is None:
            return None
        assert isinstance(number, int)
        return self.classes[number]

    def _lead(self, write: Write, packets: PacketSet, number: int) -> None:
        """Have what a write turns into some packets lead to their class."""
        before = self.space.preimage(packets, write.written, write.values)
        before = self.space.meet(before, self._regions[write.element])
        if before != self.space.nothing:
            self._work.append((write.element, number, before))

    def before(self) -> dict[int, list[PacketClass]]:
        """Return the classes that writes in use turn into others, by the numbers of those."""
        found: dict[int, list[PacketClass]] = {}
        if self._writes:
            elements = [write.element for write in self._writes.values()]
            for one in self.classes.values():
                for element in elements:
                    number = one.behaviours.get(element)
                    if isinstance(number, int) and number != one.number:
                        found.setdefault(number, []).append(one)
        return found


def _put(behaviours: dict[int, Behaviour], element: int, behaviour: Behaviour) -> None:
    if behaviour is None:
        behaviours.pop(element, None)
    else:
        behaviours[element] = behaviour


def _is_like(other: PacketClass, one: PacketClass, element: int, behaviour: Behaviour) -> bool:
    """Tell whether a class is treated as another will be once an element treats it otherwise."""
    wanted = one.behaviours.copy()
    _put(wanted, element, behaviour)
    return other.behaviours == wanted
