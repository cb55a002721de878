"""Calls: what is followed, what goes into a sink, and what is lost."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.symbolic.followed_lab import MAC, all_of, number, paths, program, run

from penstock._concolic.run import Run
from penstock._concolic.terms import var
from penstock._concolic.values.integers import Followed, integer
from penstock._concolic.values.parts import bears
from penstock._concolic.values.sym_str_build import mac_text
from penstock._controllers.controller import Controller
from penstock.openflow.actions import Output
from penstock.openflow.match import Match

X = {"x": number(3)}


def run_one(source: str, *arguments: Any, **given: Any) -> tuple[Any, Run]:
    """Run a program on a number that is followed, and return what it gave and the run."""
    module = program(source, **given)
    with Run() as current:
        return module.f(integer(5, var("x", 3)), *arguments), current


PATHS = {
    "functions of the program": ("def g(n):\n    return n > 3\ndef f(x):\n    return 1 if g(x) else 0", 2),
    "methods and closures": (
        """
        class A:
            def __init__(self, n):
                self.n = n
            def __call__(self):
                return (lambda: self.n in {1, 2})()
        def f(x):
            return A(x)()
        """,
        3,
    ),
    "what C calls in turn": (
        """
        import functools
        def f(x):
            table = {'1': 'a', '2': 'b'}
            names = list(map(table.get, map(str, [x])))
            return names, functools.partial(table.get, str(x))(), list(filter({1: 0}.get, [x]))
        """,
        3,
    ),
    "keys of sorting": (
        "def f(x):\n    return [k for k, _ in sorted([('a', x), ('b', 4)], key=lambda p: p[1])]",
        2,
    ),
    "sorting in place": ("def f(x):\n    v = [x, 4]\n    v.sort()\n    return v[0] == 4, v[-1]", 2),
    "least and greatest": ("def f(x):\n    return min(x, 3), max([x, 3])", 3),
    "any and all": ("def f(x):\n    return any(x == n for n in (1, 2)), all([x != 1])", 3),
    "a heap": (
        """
        import heapq
        def f(x):
            heap = [2, 5]
            heapq.heappush(heap, x)
            return heapq.heappop(heap) == 2, len(heap)
        """,
        3,
    ),
    "a cached function": (
        """
        import functools
        @functools.lru_cache
        def g(n):
            return n in {1, 2}
        def f(x):
            return g(x), g(x)
        """,
        3,
    ),
    "dataclasses and named tuples as keys": (
        """
        from collections import namedtuple
        from typing import NamedTuple
        P = namedtuple('P', 'a b')
        class Q(NamedTuple):
            a: int
            b: int
        def f(x):
            return P(1, x) in {P(1, 2), P(2, 3)}, Q(x, 1) in {Q(2, 1): 0}
        """,
        2,
    ),
    "exceptions hold what they are given": (
        """
        def f(x):
            try:
                raise ValueError(x, 'text')
            except ValueError as error:
                return error.args[0] == 3 and 'three'
        """,
        2,
    ),
    "generators": (
        """
        def g():
            n = yield
            yield n in {1}
        def f(x):
            it = g()
            next(it)
            return it.send(x)
        """,
        2,
    ),
    "deques and enumerate": (
        """
        from collections import deque
        def f(x):
            q = deque([1], maxlen=3)
            q.append(x)
            return [i for i, n in enumerate(q) if n == 1], x in q
        """,
        2,
    ),
    "object's own methods": (
        """
        class A:
            def __init__(self, n):
                object.__setattr__(self, 'n', n)
                super().__init__()
        def f(x):
            return A(x).n > 3 or 0
        """,
        2,
    ),
    "setattr and getattr": (
        """
        class A:
            pass
        def f(x):
            a = A()
            setattr(a, 'n', x)
            return getattr(a, 'n') == 2 and hasattr(a, 'n')
        """,
        2,
    ),
    "a property and an operator": (
        """
        class A:
            def __init__(self, n):
                self.n = n
            @property
            def low(self):
                return self.n < 3
            def __contains__(self, n):
                return n == self.n
        def f(x):
            return A(x).low or 0, 3 in A(x)
        """,
        3,
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_each_outcome_is_a_path(name: str) -> None:
    source, expected = PATHS[name]
    found = paths(source, X, all_of(x=3))
    assert len(found) == expected


SINK = """
import logging, warnings
logger = logging.getLogger('app')
def f(x, taken):
    logger.info('%s and %s', x, [x])
    logging.debug(x)
    print(x, end='')
    logging.LoggerAdapter(logger, {}).warning('n %d', x)
    return Match.of(in_port=x), Output(x)
"""


def test_sinks_get_concrete_values_without_a_loss(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "app"):
        (match, output), current = run_one(SINK, None, Match=Match, Output=Output)
    assert (match, output) == (Match.of(in_port=5), Output(5))
    assert not bears(match) and not bears(output)
    assert capsys.readouterr().out == "5"
    assert [record.getMessage() for record in caplog.records] == ["5 and [5]", "n 5"]
    assert list(current.losses) == []
    # Where a packet goes is decided: one question for each port that it could be.
    assert {str(made.condition) for made in current.decisions} <= {f"x == {port}" for port in range(8)}
    assert current.decisions[-1].outcome


def test_what_a_native_controller_sends_is_concrete() -> None:
    sent: list[Any] = []
    controller = Controller()
    controller._outbox = sent
    source = """
    def f(x, c):
        c.install('s1', Match.of(in_port=x), (Output(x),), priority=x)
        c.send('s1', x)
    """
    _, current = run_one(source, controller, Match=Match, Output=Output)
    assert not bears(sent)
    assert (sent[0].message.priority, sent[1].message) == (5, 5)
    assert not current.losses


def test_what_os_ken_sends_is_concrete() -> None:
    from os_ken.ofproto import ofproto_v1_3_parser as parser

    source = """
    def f(x, p, m):
        return p.OFPMatch(in_port=x, eth_dst=m), p.OFPActionOutput(x)
    """
    module = program(source)
    with Run() as current:
        match, action = module.f(integer(5, var("x", 3)), parser, mac_text(1, var("m", 48)))
    assert (type(match["eth_dst"]), type(action.port)) == (str, int)
    assert (match["eth_dst"], action.port) == ("00:00:00:00:00:01", 5)
    assert not current.losses
    assert [made.outcome for made in current.decisions] == [False] * 5 + [True]


@pytest.mark.parametrize(
    "read",
    [
        "p.OFPMatch(udp_dst=x)['udp_dst'] == 4",
        "dict(p.OFPMatch(udp_dst=x).items())",
        "'4' in str(p.OFPMatch(udp_dst=x))",
        "p.OFPSetConfig(None, miss_send_len=1, flags=0) if p.OFPActionSetQueue(x).queue_id == 4 else 0",
        "o.oxm_from_user('udp_dst', x)[1] == b'09'",
    ],
)
def test_what_a_program_reads_back_of_a_message_is_lost(read: str) -> None:
    from os_ken.ofproto import ofproto_v1_3 as protocol
    from os_ken.ofproto import ofproto_v1_3_parser as parser

    module = program(f"""
    def f(x, p, o):
        return {read}
    """)
    with Run() as current:
        module.f(integer(5, var("x", 16)), parser, protocol)
    assert current.losses


def test_what_is_read_back_of_a_message_may_go_into_another() -> None:
    from os_ken.ofproto import ofproto_v1_3_parser as parser

    module = program("""
    def f(x, p):
        return p.OFPMatch(udp_dst=p.OFPMatch(udp_dst=x).get('udp_dst'))
    """)
    with Run() as current:
        match = module.f(integer(5, var("x", 16)), parser)
    assert match["udp_dst"] == 5
    assert not current.losses


def test_a_packet_that_os_ken_writes_for_a_switch_loses_nothing() -> None:
    source = """
    from os_ken.lib.packet import ethernet, packet
    def f(m):
        made = packet.Packet()
        made.add_protocol(ethernet.ethernet(dst=m, src='00:00:00:00:00:01'))
        made.serialize()
    """
    done = run(source, {"m": MAC}, {"m": 3})
    assert (done.decisions, done.losses) == ((), ())


def test_what_a_program_reads_back_of_a_packet_that_it_wrote_is_lost() -> None:
    source = """
    from os_ken.lib.packet import ethernet, packet
    def f(m):
        made = packet.Packet()
        made.add_protocol(ethernet.ethernet(dst=m, src='00:00:00:00:00:01'))
        made.serialize()
        return bytes(made.data)
    """
    assert run(source, {"m": MAC}, {"m": 3}).losses == ("value of a message that was made",)


def test_a_loss_names_the_function_and_the_place() -> None:
    source = "import zlib\ndef f(x):\n    y = x\n    return zlib.crc32(y.to_bytes(1, 'big'))"
    _, current = run_one(source)
    ((loss, times),) = current.losses.items()
    assert (loss.what, times, loss.place.line, loss.place.function) == ("crc32", 1, 4, "f")


def test_what_a_function_may_change_is_not_copied() -> None:
    source = "def f(x):\n    v = [x, 1]\n    w = bytearray(b'ab')\n    w.extend([x])\n    return v, w"
    (items, data), current = run_one(source)
    assert isinstance(items[0], Followed)
    assert data == bytearray(b"ab\x05")
    assert [loss.what for loss in current.losses] == ["bytearray.extend"]


def test_classes_that_take_values_in_as_c_does_lose_them() -> None:
    done = run("class Port(int):\n    pass\ndef f(x):\n    return Port(x) + 1", X, {"x": 5})
    assert done.losses == ("Port",)


def test_what_was_remembered_for_other_inputs_is_not_used() -> None:
    module = program(
        """
        import functools
        @functools.lru_cache
        def g(n):
            return n > 2
        def f(x):
            return 1 if g(x) else 0
        """
    )
    for value in (5, 5, 1):
        with Run() as current:
            module.f(integer(value, var("x", 3)))
        assert len(current.decisions) == 1


def test_an_exception_in_a_run_is_the_same_and_comes_from_the_same_line() -> None:
    module = program("def f(x):\n    d = {1: 2}\n    return d[x]\ndef g(x):\n    return int('z')")
    with Run(), pytest.raises(KeyError) as caught:
        module.f(integer(5, var("x", 3)))
    frames = [entry for entry in caught.traceback if str(entry.path).endswith("<program>")]
    assert (caught.value.args, frames[-1].lineno + 1) == ((5,), 3)


def test_functions_that_look_at_their_caller_find_it_in_a_run_too() -> None:
    source = """
    import sys
    def f(x):
        here = sys._getframe().f_code.co_name
        return here, sorted(locals()), 'f' in globals(), sorted(vars()) == sorted(locals())
    """
    result, _ = run_one(source)
    assert result == ("f", ["here", "x"], True, True)


def test_texts_for_logs_only_cost_nothing() -> None:
    source = """
    import logging
    def f(m):
        logging.getLogger('app').debug('%s -> %s', m, {'k': m})
        logging.getLogger('app').debug(f'{m}: {[m]}')
        return 1
    """
    done = run(source, {"m": MAC}, {"m": 3})
    assert (done.decisions, done.losses) == ((), ())
