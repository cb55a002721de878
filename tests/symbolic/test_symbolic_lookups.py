"""Look-ups, memberships and subscripts by what depends on the inputs are decided key by key."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from tests.symbolic.followed_lab import MAC, all_of, data, number, paths, program, run

from penstock._concolic.run import Run
from penstock._concolic.terms import var
from penstock._concolic.values.integers import integer

X = {"x": number(3)}
XY = {"x": number(3), "y": number(3)}


def count(source: str, kinds: Any = X, **widths: int) -> int:
    return len(paths(source, kinds, all_of(**(widths or dict.fromkeys(kinds, 3)))))


PATHS = {
    "membership": ("def f(x):\n    return x in {1: 'a', 5: 'b'}", 3),
    "no membership": ("def f(x):\n    return x not in {1, 5, 6}", 4),
    "load": ("def f(x):\n    return {1: 'a', 5: 'b'}[x]", 3),
    "get": ("def f(x):\n    return {1: 'a', 5: 'b'}.get(x, 'none')", 3),
    "get by another name": ("def f(x):\n    get = {1: 'a', 5: 'b'}.get\n    return get(x)", 3),
    "unbound get": ("def f(x):\n    return dict.get({1: 'a', 5: 'b'}, x)", 3),
    "store": (
        "def f(x):\n    d = {1: 'a', 5: 'b'}\n    d[x] = 'c'\n    return d[1], len(d)",
        3,
    ),
    "augmented": ("def f(x):\n    d = {1: 1}\n    d[x] += 1\n    return d[1]", 2),
    "delete": ("def f(x):\n    d = {1: 1, 2: 2}\n    del d[x]\n    return list(d)", 3),
    "setdefault": (
        "def f(x):\n    d = {1: []}\n    d.setdefault(x, []).append(0)\n    return len(d), len(d[1])",
        2,
    ),
    "pop": ("def f(x):\n    d = {1: 'a', 2: 'b'}\n    return d.pop(x, None), len(d)", 3),
    "update": ("def f(x):\n    d = {1: 'a'}\n    d.update({x: 'b'})\n    return d[1], len(d)", 2),
    "update with pairs": (
        "def f(x):\n    d = {1: 'a'}\n    d.update([(x, 'b'), (1, 'c')], k=0)\n    return d[1], len(d)",
        2,
    ),
    "fromkeys": ("def f(x):\n    return len(dict.fromkeys([x, 1, 2, 1]))", 3),
    "keys view": ("def f(x):\n    return x in {1: 0, 2: 0}.keys()", 3),
    "values view": ("def f(x):\n    return x in {'a': 1, 'b': 2}.values()", 3),
    "items view": ("def f(x):\n    return (x, 'a') in {1: 'a', 2: 'b'}.items()", 3),
    "defaultdict": (
        """
        from collections import defaultdict
        def f(x):
            d = defaultdict(list, {1: [0]})
            d[x].append(1)
            return len(d), len(d[1])
        """,
        2,
    ),
    "counter": (
        """
        from collections import Counter
        def f(x):
            c = Counter([1, 2, x])
            c[x] += 1
            c.update([2])
            return c[1], c[2], c.most_common(1)[0][1]
        """,
        3,
    ),
    "ordered": (
        """
        from collections import OrderedDict
        def f(x):
            d = OrderedDict([(1, 'a'), (2, 'b')])
            d.move_to_end(x)
            return list(d.values())
        """,
        3,
    ),
    "a dictionary of one's own": (
        """
        class Table(dict):
            def __missing__(self, key):
                return key in (6, 7)
            def __setitem__(self, key, value):
                super().__setitem__(key, value + 1)
        def f(x):
            t = Table({1: 0})
            t[x] = 3
            return t[1], t[x], t[5]
        """,
        3,
    ),
    "set add": ("def f(x):\n    s = {1, 2}\n    s.add(x)\n    return len(s), 1 in s", 3),
    "set discard": ("def f(x):\n    s = {1, 2}\n    s.discard(x)\n    return sorted(s)", 3),
    "set remove": ("def f(x):\n    s = {1, 2}\n    s.remove(x)\n    return sorted(s)", 3),
    "frozenset": ("def f(x):\n    return x in frozenset([1, 2])", 3),
    "union": ("def f(x):\n    return len({1, 2} | {x}), len({x}.union([1], [2]))", 3),
    "intersection": ("def f(x):\n    return len({1, 2} & {x}), sorted({1, 2}.intersection({x}))", 3),
    "difference": ("def f(x):\n    return sorted({1, 2} - {x}), len({x}.difference([1, 2]))", 3),
    "symmetric difference": (
        "def f(x):\n    return len({1, 2} ^ {x}), len({x}.symmetric_difference({1, 2}))",
        3,
    ),
    "in place": (
        "def f(x):\n    s = {1, 2}\n    t = s\n    s |= {x}\n    s -= {2}\n    return len(t), s is t",
        3,
    ),
    "subset": (
        "def f(x):\n    return {x}.issubset({1, 2}), {1, 2}.issuperset([x]), {x}.isdisjoint({1, 2})",
        3,
    ),
    "merged dictionaries": (
        "def f(x):\n    d = {1: 'a'} | {x: 'b'}\n    return len(d), d[x]",
        2,
    ),
    "set display": ("def f(x):\n    return len({x, 1, 1, 2})", 3),
    "dict display": ("def f(x):\n    d = {1: 'a', x: 'b', **{2: 'c'}}\n    return d[1], len(d)", 3),
    "set comprehension": ("def f(x):\n    return len({i for i in (1, x, 2)})", 3),
    "dict comprehension": (
        "def f(x):\n    d = {k: i for i, k in enumerate((1, x, 2))}\n    return sorted(d.values())",
        3,
    ),
    "set of a list": ("def f(x):\n    return len(set([1, x, 2])), len(frozenset((x, 1)))", 3),
    "dict of pairs": ("def f(x):\n    return len(dict([(1, 0), (x, 0)])), len(dict(zip((x, 1), 'ab')))", 2),
    "list membership": ("def f(x):\n    return x in [1, 2], x in (3,)", 4),
    "list index": ("def f(x):\n    return [5, 1, 2].index(x)", 4),
    "list count and remove": (
        "def f(x):\n    v = [1, 2]\n    n = v.count(x)\n    v.remove(x)\n    return n, v",
        3,
    ),
    "range": ("def f(x):\n    return x in range(1, 7, 2)", 2),
    "empty range": ("def f(x):\n    return x in range(7, 1)", 1),
    "range downwards": ("def f(x):\n    return x in range(6, 0, -3)", 2),
    "bytes": ("def f(x):\n    return x in b'\\x01\\x05'", 2),
    "chained": ("def f(x):\n    return 1 < x in {1, 2, 3} != None", 4),
    "index": ("def f(x):\n    return ['a', 'b', 'c'][x]", 4),
    "index from the end": ("def f(x):\n    return 'abc'[x - 8]", 4),
    "store at an index": ("def f(x):\n    v = [0, 0]\n    v[x] = 1\n    return v", 3),
    "delete at an index": ("def f(x):\n    v = [1, 2]\n    del v[x]\n    return v", 3),
    "slice": ("def f(x):\n    return 'abc'[x:]", 4),
    "slice to": ("def f(x):\n    return b'abcd'[1:x]", 5),
    "a range of that many": ("def f(x):\n    return list(range(x))", 8),
    "match": (
        """
        def f(x):
            match x:
                case 1 | 2: return 'few'
                case n if n in {4, 5}: return 'some'
                case _: return None
        """,
        5,
    ),
    "match in a tuple": (
        """
        def f(x):
            match ('k', x):
                case ('k', 1): return 1
                case (str() as k, int(n)) if n > 5: return k
        """,
        3,
    ),
    "enumeration": (
        """
        from enum import IntEnum
        Kind = IntEnum('Kind', {'A': 1, 'B': 2})
        def f(x):
            return Kind(x).name
        """,
        3,
    ),
    "operators as functions": (
        """
        import operator
        def f(x):
            d = {1: 'a'}
            operator.setitem(d, x, 'b')
            return operator.contains([2], x), operator.getitem(d, 1), operator.eq(x, 3)
        """,
        3,
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_each_outcome_is_a_path(name: str) -> None:
    source, expected = PATHS[name]
    assert count(source) == expected


def test_a_key_that_depends_on_the_inputs_is_compared_with_later_ones() -> None:
    source = """
    def f(x, y):
        table = {}
        table[x] = 'a'
        return y in table, table.get(3), table.get(y)
    """
    # 3 is the first key or not; so is y: where x is neither, that is all one path.
    found = paths(source, XY, all_of(x=3, y=3))
    assert len(found) == 4


def test_constants_are_told_apart_by_their_hash() -> None:
    source = "def f(x):\n    d = {1: 'a', 2: 'b', 3: 'c'}\n    return d[2], 9 in d, x"
    assert list(paths(source, X, all_of(x=3))) == [()]


def test_keys_that_can_never_be_equal_cause_no_decision() -> None:
    source = "def f(x):\n    return x in {'a': 1, None: 2, (1, 2): 3, b'x': 4, 99: 5, -1: 6}"
    assert list(paths(source, X, all_of(x=3))) == [()]


def test_a_key_of_several_parts_is_one_question() -> None:
    source = "def f(x, y):\n    return (x, y) in {(1, 2): 'a', (3, 'b'): 'b', (1, 4): 'c'}"
    found = paths(source, XY, all_of(x=3, y=3))
    assert len(found) == 3
    assert max(map(len, found)) == 2


def test_a_hit_goes_on_with_the_very_key_of_the_container() -> None:
    key = 5
    module = program("def f(d, x):\n    d[x] = 2\n    return next(iter(d))")
    with Run():
        assert module.f({key: 1}, integer(5, var("x", 3))) is key


def test_two_texts_that_depend_on_the_inputs() -> None:
    source = """
    def f(src, dst):
        table = {'00:00:00:00:00:01': 1, '00:00:00:00:00:02': 2}
        table[src] = 3
        if dst in table:
            return table[dst]
        return 'flood'
    """
    values = [{"src": src, "dst": dst} for src, dst in product((1, 2, 3, 4), repeat=2)]
    found = paths(source, {"src": MAC, "dst": MAC}, values)
    # With a known source, dst is one of 2 or none; with a new one, one of 3 or none.
    assert len(found) == 2 * 3 + 4


def test_bytes_as_keys() -> None:
    source = "def f(b):\n    return {b'\\x00\\x01': 1, b'\\x01': 2}.get(b)"
    assert len(paths(source, {"b": data(2)}, [{"b": value} for value in (0, 1, 2)])) == 2


def test_elements_of_sets_are_asked_in_an_order_that_no_hash_decides() -> None:
    source = "def f(m):\n    return m in {'00:00:00:00:00:0%d' % n for n in (3, 1, 2)}"
    done = run(source, {"m": MAC}, {"m": 9})
    assert [question for question, _ in done.decisions] == ["m == 1", "m == 2", "m == 3"]


def test_an_index_among_many_is_found_by_halving() -> None:
    source = "def f(x):\n    return list(range(200))[x]"
    found = paths(source, {"x": number(7)}, all_of(x=7))
    assert len(found) == 128
    assert max(map(len, found)) < 30


def test_a_number_of_too_many_values_is_lost_where_a_plain_one_is_needed() -> None:
    done = run("def f(x):\n    return len(range(x))", {"x": number(32)}, {"x": 3})
    assert done.losses == ("number of many values",)


def test_nothing_is_noted_outside_of_a_run() -> None:
    module = program("def f(d, x):\n    return x in d, d.get(x), [*d][x - 1], f'{x}', '%d' % x, int(str(x))")
    assert module.f({1: 2}, integer(1, var("x", 3))) == (True, 2, 1, "1", "1", 1)
