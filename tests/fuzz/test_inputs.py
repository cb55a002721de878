"""Every input has a text, and the text is read back."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._fuzz import inputs
from penstock._fuzz.inputs import (
    FAULTS,
    PROTOCOLS,
    VERBS,
    WIRE_FAULTS,
    ChangePolicy,
    Check,
    Delay,
    Fault,
    ForgetEntry,
    Hold,
    IgnoreFlowMods,
    InjectFrame,
    Input,
    LimitTables,
    MoveHost,
    Release,
    SendPacket,
    Wait,
    WireFault,
    input_of,
)
from penstock._world.component import Endpoint
from penstock.errors import PenstockError

names = st.from_regex(r"[a-z][a-z0-9_.]{0,6}", fullmatch=True)
numbers = st.integers(0, 10**9)
ports = st.builds(Endpoint, names, st.integers(0, 65535) | names)
targets = names | st.builds("{}-{}".format, names, names) | st.builds("{}-{}".format, ports, ports)

ANY_INPUT: st.SearchStrategy[Input] = st.one_of(
    st.builds(Fault, st.sampled_from(FAULTS), targets),
    st.builds(WireFault, st.sampled_from(WIRE_FAULTS), ports),
    st.builds(SendPacket, names, names, st.sampled_from(PROTOCOLS), numbers),
    st.builds(InjectFrame, ports, st.binary(min_size=1, max_size=60), names | st.just("")),
    st.builds(Delay, ports, numbers),
    st.builds(Hold, ports),
    st.builds(Release, ports),
    st.builds(MoveHost, names, ports),
    st.builds(LimitTables, names, numbers | st.none()),
    st.builds(ForgetEntry, names, numbers),
    st.builds(IgnoreFlowMods, names, numbers),
    st.builds(ChangePolicy, names, numbers),
    st.builds(Check),
    st.builds(Wait, numbers),
)


@settings(max_examples=300)
@given(ANY_INPUT)
def test_the_text_of_an_input_is_one_line_and_means_that_input(what: Input) -> None:
    text = str(what)
    assert "\n" not in text
    assert input_of(text) == what
    assert what.verb in VERBS and text.startswith(what.verb)


def test_every_verb_is_explained_at_the_top_of_the_module() -> None:
    assert inputs.__doc__ is not None
    for verb in VERBS:
        assert re.search(rf"\b{verb}\b", inputs.__doc__), verb


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "begin with one of"),
        ("explode s1", "begin with one of check"),
        ("wait", "write it as in 'wait 100'"),
        ("wait soon", "not an integer"),
        ("wait -5", "not an integer"),
        ("hold s1", "is not a port"),
        ("inject h1:0 xyz", "pairs of hex digits"),
        ("inject h1:0 " + "00" * 9217, "1 to 9216 bytes"),
        ("send h1 to h2 smoke", "ping, arp, tcp, udp"),
        ("move h1", "move h1 to s2:3"),
        ("check this and that", "write it as in 'check'"),
    ],
)
def test_what_is_no_input_is_refused_in_one_sentence(text: str, hint: str) -> None:
    with pytest.raises(PenstockError) as refusal:
        input_of(text)
    assert hint in str(refusal.value)
    assert len(str(refusal.value)) < 400


@settings(max_examples=200)
@given(
    st.text(max_size=60) | st.sampled_from(VERBS).flatmap(lambda verb: st.text().map(f"{verb} {{}}".format))
)
def test_any_text_is_an_input_or_refused(text: str) -> None:
    with contextlib.suppress(PenstockError):
        assert isinstance(input_of(text), Input)
