"""A rewritten program does what it did before, while no run is going on."""

from __future__ import annotations

import ast
import linecache
import traceback
from types import ModuleType
from typing import Any

import pytest

from penstock._concolic.code import rewrite
from penstock._concolic.run import MARK

SNIPPETS = {
    "membership": "result = [1 in {1, 2}, 3 in {1: 2}, 'a' not in 'cat', 4 not in range(3)]",
    "chained membership": """
result = [
    0 < seen('x', 1) in seen('c', [1, 2]) != seen('d', None),
    5 < seen('y', 1) in seen('z', [])
]
""",
    "membership then order": "result = [2 in seen('a', {1, 2}) > seen('b', {1}), 1 in [[1]][0] == [1]]",
    "membership then identity": "box = [1]\nresult = 1 in box is box",
    "chains stop early": "result = [1 > seen('a', 2) in seen('b', [2])]",
    "subscript": "d = {'a': [1, 2]}\nresult = d[seen('k', 'a')][seen('i', 1)]",
    "slices": """
x = list(range(9))
result = [x[1:3], x[::2], x[-1]]
x[2:4] = [0]
del x[0]
result.append(x)
""",
    "store": "d = {}\nseen('d', d)[seen('k', 'a')] = seen('v', 1)\nresult = d",
    "augmented": "d = {'a': 1}\nseen('d', d)[seen('k', 'a')] += seen('v', 2)\nresult = d",
    "targets everywhere": """
d = {}
for d['i'] in range(3):
    pass
(a, d['j']), *d['k'] = (1, 2), 3, 4
with open('/dev/null') as d['f']:
    d['f'] = d['f'].name
d['x']: int = 5
result = d, a
""",
    "deletion": "d = {1: 2, 3: 4}\ndel seen('d', d)[seen('k', 1)], d[3]\nresult = d",
    "calls": """
def f(*a, **k):
    return a, k
result = f(seen('a', 1), *seen('b', [2]), c=seen('c', 3), **seen('d', {'e': 4}))
""",
    "super and locals": """
class A:
    def __init__(self, x):
        self.x = x
    @classmethod
    def make(cls):
        return cls(3)
class B(A):
    def __init__(self, x):
        super().__init__(x)
        self.names = sorted(locals())
    @classmethod
    def make(cls):
        return super().make()
result = B.make().x, B.make().names, 'A' in globals(), vars(A(1)), eval('1 + 1')
""",
    "callers": """
from collections import namedtuple
from typing import NamedTuple, TypeVar
P = namedtuple('P', 'x y')
T = TypeVar('T')
class Q(NamedTuple):
    a: int
    b: str = 'z'
result = P(1, 2), P.__module__, Q(1), T.__module__, Q.__annotations__
""",
    "f-strings": """
x, w, d = 3, 6, {'k': 255}
result = [f'{x}', f'', f'a', f'{x!r}{x!s}{"é"!a}', f'{x:>{w}}|{x:0{w}d}|{x:{w}.{2}f}',
          f'{d["k"]:02x}{{}}', f'{x=}', f'{x = !r:>4}', f'{f"{x}" + "y"}', rf'\\d{x}' f'{w}']
""",
    "percent": "result = ['%s-%d' % ('a', 3), '%(k)s' % {'k': 1}, 7 % 4, b'%d' % 3, 5.5 % 2]",
    "remainder": "s = '%s!'\ns %= 'a'\nn = 7\nn %= 4\nresult = s, n",
    "set operators": """
a, b = {1, 2}, {2, 3}
c = set(a)
c |= b
c -= seen('r', {1})
d = {1: 2} | {3: 4}
result = [a | b, a & b, a - b, a ^ b, c, d, 6 & 3, 6 | 1, 7 - 2, a - {1}, {1: 2}.keys() & {1}]
""",
    "set displays": "x = 1\nresult = [{seen('a', x), seen('b', 2), *seen('c', [3])}, {1, 2}, {x}]",
    "dict displays": """
k = 'a'
result = list({seen('k', k): seen('v', 1), **seen('m', {'b': 2}), 'a': 3}.items())
""",
    "constant keys": "v = 1\nresult = {'a': v, 'b': {**{}}}",
    "comprehensions": """
result = [{x % 3 for x in range(9) if x in {1, 2, 3, 4}}, {k: v for v, k in enumerate('abc')},
          [y for x in [[1], [2]] for y in x], sum(x for x in range(4)), {x: (y := x) for x in (1, 2)}, y]
""",
    "comprehension in a class": """
class A:
    n = 3
    s = {i for i in range(n)}
    d = {i: i for i in range(n)}
result = A.s, A.d
""",
    "lambda and default": """
d = {'a': 1}
f = lambda k='a', *, t=d['a']: (d[k], t)
result = f(), f.__defaults__, f.__kwdefaults__
""",
    "decorators": """
def twice(n):
    def wrap(f):
        return lambda *a: n * f(*a)
    return wrap
@twice(seen('n', 2))
def f(x):
    'text'
    return x
result = f(4)
""",
    "match": """
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int
K = type('K', (), {'A': 1})
def f(v):
    match v:
        case K.A: return 'value'
        case -1 | 2: return 'literal'
        case P(x=0, y=n) if n in {1, 2}: return n
        case P(x, 5): return x
        case {'k': {'l': z}, **rest}: return z, rest
        case [a, *b]: return a, b
        case str() as s: return s
        case _: return None
result = [f(v) for v in (1, -1, 2, P(0, 1), P(3, 5), {'k': {'l': 7}, 'm': 8}, (1, 2, 3), 'q', 9.5)]
""",
    "walrus, global, nonlocal": """
g = 1
def f():
    n = 1
    def inner():
        nonlocal n
        global g
        n, g = n + 1, g + 1
        return [m := n, m in {2}]
    return inner(), n
result = f(), g
""",
    "async and generators": """
import asyncio
async def items():
    for i in range(3):
        yield i
async def f():
    d = {'a': 1}
    return {x async for x in items()}, d['a'], {x: await g(x) async for x in items()}
async def g(x):
    return x * 2
def h():
    got = yield {1: 2}[1]
    yield got in {3}
it = h()
result = asyncio.run(f()), next(it), it.send(3)
""",
    "annotations": """
from __future__ import annotations
def f(x: dict[str, Missing] = {}, *a: Nothing['q']) -> None[0]: ...
y: Unknown[1]
class A:
    z: list[Missing] = []
result = f.__annotations__, A.__annotations__, __annotations__
""",
    "evaluated annotations": "def f(x: dict[str, int]) -> list[int]: ...\nresult = f.__annotations__",
    "docstring": "'''What it is.'''\ndef f():\n    'It too.'\nresult = __doc__, f.__doc__",
    "packed": """
class A:
    packed = b'x'
    exploded = compressed = 1
a = A()
a.packed = b'y'
result = a.packed, A.packed, a.exploded
""",
    "exceptions": """
result = []
for code in (lambda: {}['k'], lambda: [][0], lambda: 1 in 2, lambda: int('x'),
             lambda: (lambda: 1)(2), lambda: '%d' % 'a'):
    try:
        code()
    except Exception as error:
        result.append((type(error), error.args))
""",
    "unhashable": """
result = []
for code in (lambda: {[]}, lambda: {[]: 1}, lambda: {**1}, lambda: {[] for _ in 'a'}):
    try:
        code()
    except TypeError as error:
        result.append(str(error))
""",
}


def run_both(source: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found = []
    for compiled in (compile(source, "<app>", "exec", dont_inherit=True), rewrite.followed(source, "<app>")):
        module = ModuleType("app")
        log: list[tuple[str, Any]] = []

        def seen(name: str, value: Any, log: list[tuple[str, Any]] = log) -> Any:
            log.append((name, repr(value)))
            return value

        rewrite.equip(module)
        vars(module).update(seen=seen, log=log)
        exec(compiled, vars(module))
        found.append(vars(module))
    return found[0], found[1]


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_rewritten_program_computes_the_same_in_the_same_order(name: str) -> None:
    plain, followed = run_both(SNIPPETS[name])
    assert repr(followed["result"]) == repr(plain["result"])
    assert followed["log"] == plain["log"]


FAILING = """\
def outer(table, key):
    return [inner(table, key) for _ in range(1)]

def inner(table, key):
    if key in table:
        table[key] += 1
    return (table
            [key])

def look(table, key):
    value = f"{1}{table[key]}"
    return value

def count(items):
    return {len(item) for item in items}

def call():
    return int(
        "x",
        16,
    )

def member(key):
    return 1 < 2 in key

def text(value):
    return "%d apples" % value
"""


@pytest.mark.parametrize(
    "expression",
    ["outer({}, 'k')", "inner([], 3)", "look({}, 1)", "count([3])", "call()", "member(3)", "text('a')"],
)
def test_a_failure_has_the_same_traceback(expression: str) -> None:
    seen = []
    for compiled in (compile(FAILING, "<failing>", "exec"), rewrite.followed(FAILING, "<failing>")):
        module = ModuleType("app")
        rewrite.equip(module)
        exec(compiled, vars(module))
        with pytest.raises(Exception) as caught:
            eval(expression, vars(module))
        frames = traceback.extract_tb(caught.value.__traceback__)[1:]
        places = [(frame.filename, frame.lineno, frame.end_lineno) for frame in frames]
        seen.append((type(caught.value), caught.value.args, [p for p in places if p[0] == "<failing>"]))
        assert all(place[0] in ("<failing>", "<string>") for place in places)
    assert seen[0] == seen[1]
    assert seen[0][2]


def test_every_instruction_keeps_a_place_in_the_source() -> None:
    source = "\n".join(SNIPPETS[name] for name in ("f-strings", "chained membership", "set displays"))
    lines = source.count("\n") + 1
    for line, end, start, last in rewrite.followed(source, "<app>").co_positions():
        assert line is not None and 0 <= line <= lines
        assert end is None or line <= end <= lines
        assert start is None or last is None or start <= last or line != end


def test_where_something_is_decided_is_the_expression_in_the_source() -> None:
    source = "def f(d, k, m):\n    return 0 < k in d, d[k], m(k)\n"
    linecache.cache["<places>"] = (len(source), None, source.splitlines(True), "<places>")
    function = rewrite.followed(source, "<places>").co_consts[0]
    texts = set()
    for line, _, start, last in function.co_positions():
        if line == 2 and start is not None and last is not None:
            texts.add(source.splitlines()[1][start:last])
    assert {"0 < k in d", "d[k]", "m(k)"} <= texts


def test_an_equipped_module_is_marked() -> None:
    module = ModuleType("app")
    rewrite.equip(module)
    assert vars(module)[MARK]


def test_what_needs_no_hook_gets_none() -> None:
    def shown(source: str) -> str:
        return ast.unparse(rewrite.rewritten(source, "<app>"))

    assert shown("x: dict[int, str] = {1: 'a', 'b': 2}") == "x: dict[int, str] = {1: 'a', 'b': 2}"
    assert shown("y = {1, 2}") == "y = {1, 2}"
    assert shown("z = a - 1 | 3") == "z = a - 1 | 3"
    assert shown("super().f") == "super().f"
    assert shown("d[k] in e") == "__penstock_item__(d)[k] in __penstock_in__(e)"
    assert shown("del d[k]") == "del __penstock_item__(d)[k]"
    assert shown("f(x)") == "__penstock_call__(f)(x)"


def test_a_mistake_in_the_syntax_is_told_as_python_tells_it() -> None:
    with pytest.raises(SyntaxError) as caught:
        rewrite.followed("x = 1\ndef f(:\n", "broken.py")
    assert (caught.value.filename, caught.value.lineno) == ("broken.py", 2)
