"""Where the packets of every host go: a forest of flows, mended where a table changes.

From each host a tree grows (`trees`): flows, the rules that their packets meet, and in the end a host, a
controller, a loop or a loss.  Every flow, passing and ending has a witness, a packet that really gets there:
what has none is not in the tree.  This is NetPlumber's idea (NSDI'13, §3) with packets found by search in
place of sets worked out in full.

When a rule comes, goes or changes, only flows at its table that share packets with it are looked at again,
and of what grows from them only the part in that *region*: witnesses outside stand.  `mend` is the one
procedure for that, and a new tree is one that is mended everywhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Final

from penstock._forwarding.crossing import (
    Exit,
    GoesOn,
    Leaves,
    Site,
    ToController,
    Unfollowed,
    Writes,
    parts,
)
from penstock._forwarding.header_space import (
    EVERYTHING,
    Cube,
    field_mask,
    is_within,
    meet,
    overlap,
    packed,
    pulled_back,
)
from penstock._forwarding.kinds import LOCAL_FIELDS, TTL
from penstock._forwarding.rules import Rule, RuleTable
from penstock._forwarding.searching import Met, Outside, Search
from penstock._forwarding.trees import Branch, Ending, Fate, Flow, Packets, Passing, Source, Touched, Tree
from penstock._world.component import Endpoint
from penstock._world.switch import drops
from penstock._world.switch.budgets import is_over_budget
from penstock.openflow.actions import Action

MOST_HOPS: Final = 128
MOST_COPIES: Final = 500
"""How many flows of copied packets one host's tree may have: a flood without end has no end of them."""

LEADS_NOWHERE: Final = " leads nowhere"
"""How it is told that nobody is at the other end of a port."""

LOCAL: Final = field_mask(*LOCAL_FIELDS)
"""The bits of a header that travel with no packet."""


class Forest:
    """The trees of all sources over the tables, ports and wires as they are."""

    def __init__(self, on_touched: Callable[[Touched], None]) -> None:
        self.tables: dict[tuple[str, int], RuleTable] = {}
        self.sites: dict[str, Site] = {}
        self.wires: dict[Endpoint, Endpoint] = {}
        self.trees: dict[str, Tree] = {}
        self.loops: dict[Ending, None] = {}
        self.losses: dict[Ending, None] = {}
        self.unfollowed: dict[Ending, None] = {}
        self.search = Search()
        self._work: deque[tuple[Flow, Cube]] = deque()
        self._touched = on_touched

    def table(self, switch: str, number: int) -> RuleTable:
        """Return a table of a switch, which may be empty."""
        place = switch, number
        table = self.tables.get(place)
        if table is None:
            table = self.tables[place] = RuleTable(f"{switch} table {number}")
        return table

    # What changes.

    def rule_added(self, table: RuleTable, rule: Rule) -> None:
        """Look again at the flows that share packets with a rule which the table has now."""
        affected: dict[Flow, None] = {}
        for other in table.overlapping(rule.cube):
            if rule < other:
                for branch in other.branches:
                    affected[branch.flow] = None
        for branch in table.missing:
            affected[branch.flow] = None
        for flow in affected:
            self._look_again(flow, rule.cube)

    def rule_removed(self, rule: Rule) -> None:
        """Let the packets of a rule that its table does not have any more go elsewhere."""
        for branch in list(rule.branches):
            self._cut(branch)
            self._look_again(branch.flow, rule.cube)

    def surroundings_changed(self, switch: str, concerns: Callable[[Iterable[Action]], bool]) -> None:
        """Do again what is done at a switch by actions that use something which has changed."""
        for (name, _), table in self.tables.items():
            if name == switch:
                branches = [branch for rule in table for branch in rule.branches]
                for branch in (*branches, *table.missing):
                    used = (*(branch.rule.actions if branch.rule else ()), *branch.flow.action_set)
                    if not branch.flow.gone and concerns(used):
                        self._cut(branch)
                        self._look_again(branch.flow, branch.rule.cube if branch.rule else EVERYTHING)

    def plant(self, source: Source) -> None:
        """Follow a source's packets, from now on or anew."""
        self.fell(source.name)
        zero = 0, LOCAL
        packets = Packets(zero, (), self.search.find(zero, (), source.usual))
        tree = self.trees[source.name] = Tree(source, packets)
        self._touched(Touched(source.name, EVERYTHING))
        self._arrive(tree, source.end, packets, Writes(0, 0, TTL), None, False)

    def fell(self, name: str) -> None:
        """Forget a source."""
        tree = self.trees.pop(name, None)
        if tree is not None:
            self._drop(tree.onward)

    def _look_again(self, flow: Flow, cube: Cube) -> None:
        """Have a flow mended where its packets are in a cube, as the table sees them."""
        region = pulled_back(cube, flow.writes.written, flow.writes.values)
        if region is not None and overlap(region, flow.packets.cube):
            self._work.append((flow, region))
            self._touched(Touched(flow.tree.source.name, region))

    # Mending.

    def mend(self) -> None:
        """Bring the trees in step with what has changed."""
        while self._work:
            flow, region = self._work.popleft()
            if not flow.gone:
                self._mend_flow(flow, region)

    def _mend_flow(self, flow: Flow, region: Cube) -> None:
        shared = meet(flow.packets.cube, region)
        if shared is None:
            return
        written, values, _ = flow.writes
        mask = shared[1] | written
        branches = flow.branches
        covered = False
        for rule in flow.table.overlapping((shared[0] & ~written | values, mask)):
            branch = branches.get(rule)
            if branch is not None:
                self._mend_branch(branch, region)
            elif not covered:
                self._branch_out(flow, rule, region)
            covered = covered or not rule.cube[1] & ~mask
        branch = branches.get(None)
        if branch is not None:
            self._mend_branch(branch, region)
        elif not covered:
            self._branch_out(flow, None, region)

    def _mend_branch(self, branch: Branch, region: Cube) -> None:
        for passing in branch.passings:
            if overlap(passing.packets.cube, region):
                self._mend_passing(passing, region)
        if not any(passing.onward for passing in branch.passings):
            self._cut(branch)

    def _mend_passing(self, passing: Passing, region: Cube) -> None:
        packets, tree = passing.packets, passing.branch.flow.tree
        self._find_witness(packets, region, tree)
        if packets.witness is None:
            self._drop(passing.onward)
        elif not passing.onward:
            self._go_on(passing)
        elif any(one.packets is not packets for one in passing.onward):
            # Some of the packets run in a circle; which ones do, and which go on, is found out anew.
            self._drop(passing.onward)
            self._go_on(passing)
        else:
            self._work.extend((one, region) for one in passing.onward if isinstance(one, Flow))

    def _find_witness(self, packets: Packets, region: Cube, tree: Tree) -> None:
        """Find a packet of a class again, after something changed for packets of a region."""
        witness = packets.witness
        if witness is None:
            shared = meet(packets.cube, region)
            if shared is not None:
                packets.witness = self.search.find(shared, packets.constraints, tree.source.usual)
        elif witness & region[1] == region[0] and not packets.has(witness):
            packets.witness = self.search.find(packets.cube, packets.constraints, tree.source.usual)

    # Growing.

    def _branch_out(self, flow: Flow, rule: Rule | None, region: Cube) -> None:
        """Let a branch grow where packets of a region meet a rule that none of the flow met before."""
        written, values, _ = flow.writes
        packets, table, usual = flow.packets, flow.table, flow.tree.source.usual
        wanted = EVERYTHING if rule is None else pulled_back(rule.cube, written, values)
        cube = None if wanted is None else meet(packets.cube, wanted)
        shared = None if cube is None else meet(cube, region)
        if cube is None or shared is None:
            return
        constraints = (*packets.constraints, Met(table, rule, written, values))
        witness = packets.witness
        # A packet of the flow is one of the branch's if the table says so; its way here is known.
        if (
            witness is None
            or witness & cube[1] != cube[0]
            or table.lookup(witness & ~written | values) is not rule
        ):
            witness = self.search.find(shared, constraints, usual)
        if witness is None:
            return
        branch = flow.branches[rule] = Branch(flow, rule)
        (table.missing if rule is None else rule.branches)[branch] = None
        site = self.sites[flow.place[0]]
        for part in parts(site, rule, cube, flow.port, flow.writes, flow.action_set):
            within = constraints
            found: int | None = witness
            if part.outside or part.cube != cube:
                within = (*constraints, Outside(part.outside)) if part.outside else constraints
                found = self.search.find(part.cube, within, usual)
            passing = Passing(branch, part, Packets(part.cube, within, found))
            branch.passings.append(passing)
            if found is not None:
                self._go_on(passing)
        if not any(passing.onward for passing in branch.passings):
            self._cut(branch)

    def _go_on(self, passing: Passing) -> None:
        """Follow packets out of a passing."""
        for way_out in passing.part.exits:
            self._leave(passing, way_out)
        if not passing.onward:
            self._end_here(passing)

    def _leave(self, passing: Passing, way_out: Exit) -> None:
        flow, packets = passing.branch.flow, passing.packets
        switch = flow.place[0]
        match way_out:
            case Leaves(port, writes, perhaps):
                self._arrive(flow.tree, Endpoint(switch, port), packets, writes, passing, perhaps)
            case GoesOn(number, writes, action_set):
                self._add_flow(flow.tree, (switch, number), flow.port, packets, writes, action_set, passing)
            case ToController(writes, perhaps):
                self._end(Ending(flow.tree, "controller", switch, "", packets, writes, passing, perhaps))
            case Unfollowed(why):
                self._end(Ending(flow.tree, "unfollowed", switch, why, packets, flow.writes, passing))

    def _end_here(self, passing: Passing) -> None:
        """Judge packets that nothing sends on."""
        flow, rule = passing.branch.flow, passing.branch.rule
        fate: Fate = "dropped"
        why = passing.part.failed
        idle = passing.part.idle
        if idle and not why and idle != drops.NO_OTHER_PORT and self._came_from_switch(flow):
            why = idle
        if why and is_over_budget(why) and self._was_sent_already(flow):
            # Then nothing is sent of the packets after all, although other flows have grown from them.
            fate = "unfollowed"
        elif why:
            fate = "lost"
        elif idle:
            # Between two hosts that is a loss; what a host sends itself has no other way to go.
            why = idle
        elif rule is None:
            fate = "missed" if flow.via is None else "lost"
            why = f"no rule of {flow.table.place} matches it"
        self._end(Ending(flow.tree, fate, flow.place[0], why, passing.packets, flow.writes, passing))

    def _was_sent_already(self, flow: Flow) -> bool:
        """Tell whether earlier tables of the switch have sent the packets somewhere."""
        while flow.place[1] and flow.via is not None:
            if len(flow.via.part.exits) > 1:
                return True
            flow = flow.via.branch.flow
        return False

    def _came_from_switch(self, flow: Flow) -> bool:
        """Tell whether packets came from another switch; what comes from a host for it has no way to go."""
        return any(before.place[0] != flow.place[0] for before in flow.before())

    def _end(self, ending: Ending) -> None:
        (ending.tree.onward if ending.via is None else ending.via.onward).append(ending)
        if ending.fate == "loop":
            self.loops[ending] = None
        elif ending.fate == "lost" and ending.via is not None:
            self.losses[ending] = None
        elif ending.fate == "unfollowed":
            self.unfollowed[ending] = None

    def _arrive(
        self,
        tree: Tree,
        end: Endpoint,
        packets: Packets,
        writes: Writes,
        via: Passing | None,
        perhaps: bool,
    ) -> None:
        """Follow packets over a wire."""
        peer = self.wires.get(end)
        if peer is None:
            nowhere = f"port {end.port}{LEADS_NOWHERE}"
            self._end(Ending(tree, "lost", end.node, nowhere, packets, writes, via, perhaps))
            return
        node, port = peer
        site = self.sites.get(node)
        if site is None:
            self._end(Ending(tree, "delivered", node, "", packets, writes, via, perhaps))
            return
        refused = site.refusals.get(int(port), f"there is no port {port} of {node}")
        if refused:
            self._end(Ending(tree, "lost", node, refused, packets, writes, via, perhaps))
            return
        kept = writes.values & ~LOCAL | packed("in_port", int(port))
        writes = Writes(writes.written | LOCAL, kept, writes.ttl)
        if via is None:
            self._add_flow(tree, (node, 0), int(port), packets, writes, (), None)
            return
        left = self._split_off_loops(tree, (node, int(port)), packets, writes, via, perhaps)
        if left is not None:
            self._add_flow(tree, (node, 0), int(port), left, writes, (), via)

    def _split_off_loops(
        self, tree: Tree, here: tuple[str, int], packets: Packets, writes: Writes, via: Passing, perhaps: bool
    ) -> Packets | None:
        """Set packets apart that were here before as they are now; return the others, if any."""
        hops = 0
        for flow in chain((via.branch.flow,), via.branch.flow.before()):
            if flow.place[1] == 0:
                hops += 1
                if (flow.place[0], flow.port) == here:
                    left = self._split_off_loop(flow, packets, writes, via, perhaps)
                    if left is None:
                        return None
                    packets = left
        if hops > MOST_HOPS:
            why = f"it is still under way after {MOST_HOPS} switches"
            self._end(Ending(tree, "unfollowed", here[0], why, packets, writes, via, perhaps))
            return None
        return packets

    def _split_off_loop(
        self, start: Flow, packets: Packets, writes: Writes, via: Passing, perhaps: bool
    ) -> Packets | None:
        """Set packets apart that are now as they were in a flow before; return the others, if any."""
        same = _unchanged(start.writes, writes)
        again = None if same is None else meet(packets.cube, same)
        if same is None or again is None:
            return packets
        tree, node = start.tree, start.place[0]
        why = "" if writes.ttl == start.writes.ttl else "until its time to live is spent"
        if is_within(packets.cube, same):
            self._end(Ending(tree, "loop", node, why, packets, writes, via, perhaps, start))
            return None
        witness = self.search.find(again, packets.constraints, tree.source.usual)
        if witness is not None:
            looping = Packets(again, packets.constraints, witness)
            self._end(Ending(tree, "loop", node, why, looping, writes, via, perhaps, start))
        others = (*packets.constraints, Outside((same,)))
        witness = self.search.find(packets.cube, others, tree.source.usual)
        return None if witness is None else Packets(packets.cube, others, witness)

    def _add_flow(
        self,
        tree: Tree,
        place: tuple[str, int],
        port: int,
        packets: Packets,
        writes: Writes,
        action_set: tuple[Action, ...],
        via: Passing | None,
    ) -> None:
        if via is not None and via.part.ways > 1:
            if tree.copies >= MOST_COPIES:
                why = "there are too many copies to follow"
                self._end(Ending(tree, "unfollowed", place[0], why, packets, writes, via))
                return
            tree.copies += 1
        flow = Flow(tree, place, port, packets, writes, action_set, via, self.table(*place))
        (tree.onward if via is None else via.onward).append(flow)
        self._work.append((flow, EVERYTHING))

    # Felling.

    def _cut(self, branch: Branch) -> None:
        """Take a branch off its flow."""
        flow, rule = branch.flow, branch.rule
        flow.branches.pop(rule, None)
        (flow.table.missing if rule is None else rule.branches).pop(branch, None)
        for passing in branch.passings:
            self._drop(passing.onward)

    def _drop(self, onward: list[Flow | Ending]) -> None:
        """Forget what grew from somewhere."""
        falling: list[Flow | Ending] = list(onward)
        onward.clear()
        while falling:
            one = falling.pop()
            if isinstance(one, Ending):
                self.loops.pop(one, None)
                self.losses.pop(one, None)
                self.unfollowed.pop(one, None)
                continue
            one.gone = True
            one.tree.copies -= one.via is not None and one.via.part.ways > 1
            for rule, branch in one.branches.items():
                (one.table.missing if rule is None else rule.branches).pop(branch, None)
                for passing in branch.passings:
                    falling += passing.onward


def _unchanged(then: Writes, now: Writes) -> Cube | None:
    """Return which packets have the same header after some writes as after more of them."""
    if (then.values ^ now.values) & then.written:
        return None
    more = now.written & ~then.written
    return now.values & more, more


def ends_of(wires: Mapping[Endpoint, Endpoint], others: Mapping[Endpoint, Endpoint]) -> list[Endpoint]:
    """Return the ends whose wires two drawings of a network do not agree on."""
    return [end for end in {**wires, **others} if wires.get(end) != others.get(end)]
