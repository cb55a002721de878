"""A formula may use only what the model has; what it has is said where it uses something else."""

import pytest

from penstock._verify.ltl.parser import FormulaError, parse
from penstock._verify.ltl.signature import NUMBER, TEXT, TRUTH, VALUE, Signature, check, many, one

NETWORK = Signature(
    names={
        "hosts": many("host", fixed=True),
        "h1": one("host", fixed=True),
        "controller": one("controller"),
        "rounds": NUMBER,
        "broken": TRUTH,
    },
    sorts={
        "host": {"rcvq": many("packet"), "peers": many("host", fixed=True), "name": TEXT},
        "packet": {"ssh": TRUTH, "port": NUMBER, "dst": one("host"), "tags": many("number")},
        "controller": {"state": VALUE},
    },
    events={"recv": (one("host"), one("packet")), "tick": ()},
)


@pytest.mark.parametrize(
    "text",
    [
        "G forall h in hosts, p in h.rcvq: not p.ssh",
        "forall h in hosts: G F exists p in h.rcvq: p.dst == h",
        "forall h in hosts, k in h.peers: F h.name == k.name",
        "forall h in {h1}: F (exists p in h.rcvq: p.port in {1, 2})",
        "G [recv(h, p)] (p.dst == h and p.port >= 1)",
        "G not <recv(_, p)> (h1 == p.dst or 3 in p.tags)",
        "F <tick> true",
        "G [recv] rounds < 3",
        'G (controller.state == "ready" or controller.state.phase > 3)',
        "broken U rounds == 3",
    ],
)
def test_what_the_model_has_may_be_used(text: str) -> None:
    check(parse(text), NETWORK, text)


@pytest.mark.parametrize(
    ("text", "column", "sentence"),
    [
        (
            "G hots",
            3,
            "hots is no name, did you mean hosts\\? there are broken, controller, h1, hosts, rounds",
        ),
        ("G forall h in hosts: h.sndq", 24, "sndq is no field of a host: there are name, peers, rcvq"),
        ("G [send(p)] p.ssh", 4, "send is no event: there are recv, tick"),
        ("G [recv(p)] p.ssh", 4, "recv has 2 arguments \\(host, packet\\), not 1"),
        ("G forall h in rounds: true", 15, "rounds is a number, not a set: the sets are hosts"),
        ("forall h in hosts, p in h.rcvq: F p.ssh", 20, "members of h.rcvq change during a run"),
        ("forall r in {rounds}: F r == 1", 8, "members of {rounds} change during a run"),
        ("G [tick] F broken", 4, "What follows an event is said of one moment"),
        ("forall h1 in hosts: broken", 8, "h1 already stands for something else"),
        ("G [recv(h, rounds)] broken", 4, "rounds already stands for something else"),
        ("G rounds", 3, "rounds is a number, not true or false"),
        ("G hosts == h1", 9, "hosts is a set of hosts: compare its members"),
        ("G h1 in controller", 9, "controller is a controller, so nothing is in it"),
        ("G h1 == hosts", 9, "hosts is a set of hosts: ask whether something is in it"),
        ("G h1 < h1", 6, "have no order"),
        ("G h1 == 3", 6, "they never meet"),
        ("G rounds in h1.rcvq", 10, "they never meet"),
        ("G h1 in {hosts}", 10, "a set in braces holds no other set"),
        ("G hosts.rcvq", 9, "hosts is a set of hosts: ask for fields of its members"),
        ("G rounds.x", 10, "x is no field of a number: there is none at all"),
    ],
)
def test_what_the_model_lacks_is_refused_with_what_it_has(text: str, column: int, sentence: str) -> None:
    with pytest.raises(FormulaError, match=sentence) as refused:
        check(parse(text), NETWORK, text)
    assert refused.value.column + 1 == column
