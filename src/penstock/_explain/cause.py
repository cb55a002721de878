"""Which rule, message or silence decided that a property is broken, and which code is behind it.

A violation is a sentence that names packets, or rules.  What became of a packet at the end of the run was
decided by the last switch or controller that had it: by a rule that it met, by a packet-out, by a handler
that came to its end without sending it on.  A rule was brought by a flow-mod, and a message was sent by a
line of the program.  Properties about packets that arrive where they should not ask for whoever sent them
there (`Property.blames_arrival`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from penstock._explain.past import (
    Past,
    codes_of_sends,
    is_about,
    name_of,
    packet_names,
    raised,
    returned,
)
from penstock._story.explanation import Code, Explanation
from penstock._story.story import refusal_text, sentences
from penstock._world.component import Port
from penstock._world.frame import Frame, without_descriptions
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.switch.headers import read
from penstock._world.transition import InFlight, Record
from penstock.openflow.actions import actions_text
from penstock.openflow.messages import NO_BUFFER, PacketIn

_GROUP: Final = re.compile(r"\bgroup:(\d+)")
_NODE: Final = re.compile(r"[A-Za-z]\w*")
_PORT_DOWN: Final = re.compile(r"\bport (\d{1,9}) is down")
_MOST_CODE: Final = 3
_TABLE_MISS: Final = "priority=0 any "
FAILURES: Final = ("crashed", "hung")


def cause_of(past: Past, message: str, *, arrival: bool = False) -> Explanation:
    """Return what decided that a run ends in a violation, as the sentence about it tells."""
    if not past.records:
        return Explanation()
    if failed := _failure(past):
        return failed
    for name in packet_names(message):
        found = _arrival(past, name, message) if arrival else _end(past, name, message)
        if found:
            return found
    return _by_rules(past, message) or _by_last_step(past)


# A handler that fails.


def _failure(past: Past) -> Explanation | None:
    record = past.records[-1]
    for event in record.events:
        if event.kind in FAILURES:
            did = f"raised {event.detail[1]}" if event.kind == "crashed" else "does not return"
            return Explanation(code=_codes(Code(raised(record), did)))
    return None


# How a packet ends.


def _end(past: Past, name: str, message: str) -> Explanation | None:
    place = _ending_place(past, name)
    if place is None:
        return None
    record = past.records[place]
    if _handles(record, name):
        return _handled(past, place, name, message)
    for flight in record.lost:
        if name_of(flight.message) == name:
            nowhere = f"port {flight.channel.port} of {record.node}, which leads nowhere"
            since = _since(past, place, flight.channel.port)
            found = _decided(past, place, f"sent {name} out of {nowhere}{since}")
            return replace(found, why=found.why + _hidden(past, place))
    if trouble := _trouble(record, name):
        trouble = _PORT_DOWN.sub(lambda found: found[0] + _since(past, place, int(found[1])), trouble)
        removed = _removed(past, place)
        found = _decided(past, place, f"did not send {name} on: {trouble}{removed.why}")
        return Explanation(found.why + _hidden(past, place), _codes(*found.code, *removed.code))
    if any(name_of(flight.message) == name and _is_packet_in(flight.message) for flight in record.sends):
        return _handed_over(past, place, name)
    if any(event.kind == "ignored" for event in record.events):
        return _rewritten(past, place, name) or _arrival(past, name, message)
    return _arrival(past, name, message)


def _since(past: Past, place: int, port: Port) -> str:
    """Return since when a port leads nowhere, in words."""
    since = past.cut_off(past.records[place].node, port, place)
    return "" if since is None else f" since {past.called(since)[3:]} ({past.headline(since)})"


def _ending_place(past: Past, name: str) -> int | None:
    """Return where a packet ended.

    A packet may have several copies, and which of them is the last to end says nothing.  So the end that
    counts is one that a switch or a controller brought about, and only else that of a bystander.
    """
    about = [place for place, record in enumerate(past.records) if is_about(record, name)]
    if not about:
        return None
    last = past.records[about[-1]]
    if about[-1] == len(past.records) - 1 and not _is_bystander(last):
        return about[-1]
    ends = [place for place in about if _is_end(past.records[place], name)]
    decided = [place for place in ends if not _is_bystander(past.records[place])]
    return (decided or ends or about)[-1]


def _is_bystander(record: Record) -> bool:
    return any(event.kind in ("ignored", "received") for event in record.events)


def _is_end(record: Record, name: str) -> bool:
    """Tell whether a copy of a packet got no further than a step."""
    if _handles(record, name):
        return not any(name_of(flight.message) == name for flight in record.sends)
    lost = any(name_of(flight.message) == name for flight in record.lost)
    return lost or bool(_trouble(record, name)) or _is_bystander(record)


def _trouble(record: Record, name: str) -> str:
    """Return why a switch did not send a packet on, or not by all of its actions."""
    for event in record.events:
        if event.kind in ("dropped", "not-output") and event.detail[0] in (name, ""):
            return str(event.detail[2])
        if event.kind == "refused":
            return f"it refused that with {refusal_text(event)}"
    return ""


def _removed(past: Past, place: int) -> Explanation:
    """Explain by the last rule that was removed from a table in which a packet met none."""
    record = past.records[place]
    gone = past.last_removed(record.node, place)
    if gone is None or not any(event.kind == "missed" for event in record.events):
        return Explanation()
    at, rule = gone
    sender, message = past.sender(at), past.records[at].message
    by = f" by {message}" if sender is not None else ""
    codes = () if sender is None else _codes(Code(sender.code, "sent that"))
    return Explanation(f" (the rule {rule} was removed {past.called(at)}{by})", codes)


def _hidden(past: Past, place: int) -> str:
    """Return which rule of lower priority a packet would have met, had it not met the one that decided."""
    record = past.records[place]
    matched = [event for event in record.events if event.kind == "matched"]
    if len(matched) != 1 or not isinstance(record.message, Frame):
        # In a later table the packet may have been another.
        return ""
    _, port, table, met = matched[0].detail
    if not isinstance(met, FlowEntry) or not isinstance(port, int):
        return ""
    added = past.entries(record.node, table, place)
    below = FlowTable(entry for entry in added if 0 < entry.priority < met.priority)
    hidden = below.lookup({**read(record.message.data).fields, "in_port": port})
    if hidden is None:
        return ""
    return f"; it hides {hidden} (added {past.called(added[hidden])}), which matches too, at a lower priority"


def _rewritten(past: Past, place: int, name: str) -> Explanation | None:
    """Explain by the switch that changed the header of a packet which a host then ignored."""
    host = past.records[place].node
    for at in _forwarders(past, place, name):
        record = past.records[at]
        before = getattr(record.message, "data", b"")
        after = [getattr(flight.message, "data", b"") for flight in record.sends]
        if before and after and all(data and data != before for data in after):
            return _decided(past, at, f"changed the header of {name}, which {host} then ignored")
    return None


def _handed_over(past: Past, place: int, name: str) -> Explanation:
    """Explain why a switch handed a packet over; if no rule was there for it, by those that were added."""
    decided = _decided(past, place, f"handed {name} to the controller")
    switch = past.records[place].node
    if not any(rule.startswith(_TABLE_MISS) for rule in _rules_met(past.records[place])):
        return decided
    added = past.rules_since_start(switch, place)
    others = ", ".join(f"not even the one added {past.called(other)}" for other, _ in added)
    why = f"{decided.why}, since no other rule of {switch} matches it{f', {others}' if others else ''}"
    codes = (code for other, rule in added for code in _origin(past, switch, rule, other)[1])
    return Explanation(why, _codes(*codes, *decided.code))


def _rules_met(record: Record) -> list[str]:
    return [str(event.detail[3]) for event in record.events if event.kind == "matched"]


def _handles(record: Record, name: str) -> bool:
    return _is_packet_in(record.message) and name_of(record.message) == name


def _is_packet_in(message: object) -> bool:
    return isinstance(message, PacketIn) or str(message).startswith("PacketIn(")


def _handled(past: Past, place: int, name: str, message: str) -> Explanation:
    """Explain by what a controller did with a packet that it was handed."""
    record = past.records[place]
    controller, switch = record.node, record.transition.node
    asleep = next((str(event.detail[1]) for event in record.events if event.kind == "asleep"), "")
    if asleep:
        return Explanation(f"{controller} is still in {asleep}, and has not sent {name} on")
    if not record.sends:
        why = f"{past.called(place)} {controller} was handed {name} by {switch} and sent nothing"
        silent = Code(returned(record), "returned and sent nothing")
        return Explanation(why + _kept(record), _codes(silent))
    receivers = {str(flight.channel.port) for flight in record.sends}
    named = next((node for node in _NODE.findall(message.partition(name)[2]) if node in receivers), None)
    chosen = [flight for flight in record.sends if named in (None, flight.channel.port)]
    counts = Counter(f"{_kind(flight.message)} to {flight.channel.port}" for flight in chosen)
    told = " and ".join(f"{count if count > 1 else 'a'} {what}" for what, count in counts.items())
    sent = "sent only" if len(chosen) == len(record.sends) else "sent"
    why = f"{past.called(place)} {controller} was handed {name} by {switch} and {sent} {told}"
    codes = (
        Code(code, "sent that")
        for receiver in dict.fromkeys(str(flight.channel.port) for flight in chosen)
        for code in codes_of_sends(record, receiver)
    )
    further = _became(past, place) + _kept(record) or _for_later(chosen)
    return Explanation(why + further, _codes(*codes))


def _for_later(sends: Iterable[InFlight]) -> str:
    """Return what is to say of a controller that answers a packet with nothing but rules."""
    later = all(
        _kind(flight.message) == "FlowMod" and getattr(flight.message, "buffer_id", NO_BUFFER) == NO_BUFFER
        for flight in sends
    )
    return "; a FlowMod without a buffer is for packets to come, and sends none on" if later else ""


def _became(past: Past, place: int) -> str:
    """Return what went wrong with the messages that a step sent, where they were taken in."""
    found = []
    for at in past.taken_in(place):
        record = past.records[at]
        for event in record.events:
            if event.kind in ("dropped", "refused", "not-output"):
                refused = event.kind == "refused"
                what = (
                    f"refused that: {refusal_text(event)}" if refused else f"dropped that: {event.detail[2]}"
                )
                found.append(f"; {record.node} {what}")
    return "".join(dict.fromkeys(found))


def _kind(message: object) -> str:
    return str(message).partition("(")[0]


def _kept(record: Record) -> str:
    """Return in which buffer the packet stays that a controller was handed and did not release."""
    buffer = getattr(record.message, "buffer_id", NO_BUFFER)
    if buffer == NO_BUFFER:
        return ""
    for flight in record.sends:
        if getattr(flight.message, "buffer_id", NO_BUFFER) == buffer:
            return ""
    nothing = "nothing" if not record.sends else "none of that"
    return f"; {nothing} names buffer {buffer}, so {record.transition.node} keeps the packet there"


# Who sent a packet on.


def _arrival(past: Past, name: str, message: str) -> Explanation | None:
    """Explain by who sent a packet to where it is; and if others are named, how their packets got there."""
    place = past.last(name=name)
    decisions = [] if place is None else list(_forwarders(past, place, name))
    if place is None or not decisions:
        return None
    found = [_decided(past, decisions[0], f"sent {name} on")]
    if loop := _round(past, decisions):
        return Explanation(f"{found[0].why}; {loop}", found[0].code)
    receiver = past.records[place].node
    for host in _NODE.findall(message.rpartition(name)[2]):
        other = _last_received(past, host, name.partition("#")[0]) if host != receiver else ""
        came = past.last(host, name=other) if other else None
        sent = None if came is None else next(_forwarders(past, came, other), None)
        if sent is not None:
            found.append(_decided(past, sent, f"sent {other} to {host}"))
            break
    why = "; ".join(each.why for each in found)
    return Explanation(why, _codes(*(code for each in found for code in each.code)))


def _forwarders(past: Past, place: int, name: str) -> Iterator[int]:
    """Yield where switches sent on the very copy of a packet that a step is about, back in time."""
    at: int | None = place
    while at is not None:
        record = past.records[at]
        onwards = [flight for flight in record.sends if isinstance(flight.channel.port, int)]
        is_switch = record.message is not None and not _is_packet_in(record.message)
        if at != place and is_switch and any(name_of(flight.message) == name for flight in onwards):
            yield at
        sender = past.sender(at)
        at = None if sender is None else sender.place


def _round(past: Past, decisions: list[int]) -> str:
    """Return through which switches a packet went round, if the first that sent it on did so before."""
    nodes = [past.records[place].node for place in decisions]
    if nodes.count(nodes[0]) < 2:
        return ""
    way = nodes[: nodes.index(nodes[0], 1) + 1][::-1]
    flooded = all(_floods(past.records[place]) for place in decisions[: len(way)])
    how = " by flooding, and flooding goes round any cycle of links" if flooded else ""
    return f"it went {' > '.join(way)}{how}"


def _floods(record: Record) -> bool:
    return "output:flood" in str(record.message) or any(
        event.kind == "matched" and "output:flood" in str(event.detail[3]) for event in record.events
    )


def _last_received(past: Past, host: str, sender: str) -> str:
    """Return the packet of a sender that a host received last."""
    for record in reversed(past.records):
        name = name_of(record.message) if record.node == host else ""
        if name.startswith(f"{sender}#") and any(event.kind == "received" for event in record.events):
            return name
    return ""


# Rules and messages.


def _decided(past: Past, place: int, did: str) -> Explanation:
    """Explain what a switch did in a step by the rule or the packet-out that had it do so."""
    record = past.records[place]
    if rules := _rules_met(record):
        added, codes = _origin(past, record.node, rules[-1], place)
        groups = _groups(past, record.node, rules[-1])
        return Explanation(f"{record.node}'s rule {rules[-1]}{added} {did}", _codes(*codes, *groups))
    sender = past.sender(place)
    if sender is not None and isinstance(record.transition.what, str):
        order = f"the {_kind(record.message)} sent {past.called(sender.place)}{_actions(record.message)}"
        groups = _groups(past, record.node, order)
        return Explanation(
            f"{record.node}, by {order}, {did}", _codes(Code(sender.code, "sent that"), *groups)
        )
    return Explanation(f"{record.node} {did}")


def _groups(past: Past, switch: str, actions: str) -> Iterator[Code]:
    """Yield the code that sent the last group-mod for each group of a switch that actions name."""
    for number in dict.fromkeys(_GROUP.findall(actions)):
        yield from _group(past, switch, number)


def _group(past: Past, switch: str, number: str) -> Iterator[Code]:
    """Yield the code that sent the last group-mod for a group of a switch."""
    sender = past.sender_of_text(switch, rf" group={number}\b", len(past.records) - 1)
    if sender is not None:
        yield Code(sender.code, f"sent group {number}")


def _actions(message: object) -> str:
    """Return what a packet-out has a switch do, in brackets."""
    actions = getattr(message, "actions", ())
    return f" ({actions_text(actions)})" if actions else ""


def _origin(past: Past, switch: str, rule: str, place: int) -> tuple[str, tuple[Code, ...]]:
    """Return when a rule was added, in words, and the code that sent its flow-mod."""
    added = past.rule_added(switch, rule, place)
    if added is None:
        return "", ()
    sender = past.sender(added) or past.sender_of_text(switch, re.escape(rule), added)
    codes = () if sender is None else _codes(Code(sender.code, "sent that rule"))
    return f" (added {past.called(added)})", codes


def _by_rules(past: Past, message: str) -> Explanation | None:
    """Explain by the rules that a sentence quotes."""
    codes: list[Code] = []
    told: list[str] = []
    for record in past.records:
        for event in record.events:
            rule = str(event.detail[1]) if event.kind in ("rule-added", "rule-modified") else ""
            if rule and rule in message and record.node in _NODE.findall(message):
                added, found = _origin(past, record.node, rule, len(past.records) - 1)
                told.append(f"{record.node} has the rule {rule}{added}")
                codes += found
    told = list(dict.fromkeys(told))
    return Explanation("; ".join(told), _codes(*codes)) if told else None


def rules_cause(past: Past, rules: Iterable[tuple[str, str]]) -> Explanation:
    """Explain by the rules that packets meet on their way, each with its switch."""
    told: list[str] = []
    codes: list[Code] = []
    last = len(past.records) - 1
    for switch, rule in dict.fromkeys(rules):
        added, found = _origin(past, switch, rule, last)
        told.append(f"{switch}'s rule {rule}{added}" if rule else f"no rule of {switch}")
        codes += found
    return Explanation(f"it meets {', '.join(told)}" if told else "", _codes(*codes))


def _by_last_step(past: Past) -> Explanation:
    """Explain by the rule that was met in the last step, or by what a controller sent in it."""
    record = past.records[-1]
    if rules := _rules_met(record):
        added, found = _origin(past, record.node, rules[-1], len(past.records) - 1)
        return Explanation(f"in the last step {record.node} went by its rule {rules[-1]}{added}", found)
    codes = [
        Code(code, f"sent the {_kind(flight.message)} to {flight.channel.port}")
        for flight in record.sends
        if isinstance(flight.channel.port, str)
        for code in codes_of_sends(record, str(flight.channel.port))[:1]
    ]
    return Explanation(code=_codes(*codes))


def _codes(*codes: Code) -> tuple[Code, ...]:
    """Return the codes that are known, each once."""
    return tuple({str(code): code for code in codes if code.places}.values())[:_MOST_CODE]


def headlines(records: Iterable[Record]) -> list[str]:
    """Return what happened in each step, in half a sentence."""
    return [without_descriptions(told[0]).rstrip(".") for told in sentences(records)]
