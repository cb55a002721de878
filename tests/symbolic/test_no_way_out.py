"""No way out: whatever a program does with an input, the run decides by it, or says that it was lost.

Each line of `expressions.txt` is an expression in one small input, `x`; each of `statements.txt` has
statements before it.  It is evaluated by Python for all values of the input.  Wherever two values give
different results, the runs that follow them must differ in what they decided; else one of them must have
noted a loss.  A value that slipped away without a word would be an all-clear for a bug.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import pytest
from tests.symbolic.followed_lab import plain_program, program

from penstock._concolic.run import Run
from penstock._concolic.terms import var
from penstock._concolic.values.integers import integer
from penstock._controllers.osken.determinism import Surroundings
from penstock._controllers.osken.hub import Hub

WIDTH: Final = 4
INPUT: Final = "small"
"""What the input is called: in other tests, inputs of one name have more bits."""
EXPRESSIONS: Final = Path(__file__).with_name("expressions.txt").read_text(encoding="utf-8").splitlines()
STATEMENTS: Final = Path(__file__).with_name("statements.txt").read_text(encoding="utf-8").splitlines()
BEFORE: Final = r"""
import abc, array, ast, base64, binascii, bisect, builtins, calendar, cmath, codecs, collections, colorsys
import contextlib, contextvars, copy, ctypes, dataclasses, datetime, decimal, difflib, enum, errno, fnmatch
import fractions
import functools, graphlib, hashlib, heapq, html, http.cookies, inspect, io, ipaddress, itertools, json
import keyword, locale
import logging, math, netaddr, operator, os, pathlib
import pickle, pprint, queue, random, re, reprlib, secrets, shlex, signal
import socket, stat, statistics, string, struct, sys, textwrap, threading, time, traceback, types, typing
import unicodedata, urllib.parse, uuid, warnings, weakref, zlib
class Box:
    def __init__(self, v): self.v = v
    def __eq__(self, o): return self.v == o.v
    def __hash__(self): return hash(self.v)
    def __lt__(self, o): return self.v < o.v
    def __index__(self): return self.v
    def __int__(self): return self.v
    def __bool__(self): return self.v == 5
    def __len__(self): return self.v
    def __str__(self): return str(self.v)
    def __format__(self, s): return format(self.v, s)
    def __call__(self): return self.v
    def __iter__(self): yield self.v
    def __contains__(self, o): return o == self.v
    def __getitem__(self, i): return self.v + i
    def __enter__(self): return self.v
    def __exit__(self, *a): return False
    def __getattr__(self, n):
        if n.startswith('__'): raise AttributeError(n)
        return n, self.v
    def __add__(self, o): return self.v + o
    def __radd__(self, o): return o + self.v
    def __float__(self): return float(self.v)
    def __round__(self, n=0): return self.v
    def __abs__(self): return self.v
    def __neg__(self): return -self.v
    def __reversed__(self): yield self.v
    def __divmod__(self, o): return divmod(self.v, o)
    def __missing__(self, k): return k
class Dm(dict):
    def __missing__(self, k): return k == 5
class L(list): pass
def gen(v):
    w = yield v
    yield w == 5
def deco(fn):
    @functools.wraps(fn)
    def inner(*a, **k): return fn(*a, **k)
    return inner
@deco
def is5(v): return v == 5
@functools.singledispatch
def sd(v): return v == 5
class P:
    @property
    def p(self): return self._v == 5
    def __set_name__(self, o, n): pass
class Desc:
    def __get__(self, o, t=None): return o.q == 5
class Q:
    d = Desc()
    def __init__(self, v): self.q = v
class Meta(type):
    def __call__(cls, v): return v == 5
class M(metaclass=Meta): pass
class E(enum.Enum):
    A = 5
    B = 6
class F(enum.IntFlag):
    A = 1
    B = 4
@dataclasses.dataclass
class D:
    a: object
@dataclasses.dataclass(order=True)
class O:
    a: object
N = collections.namedtuple('N', 'a')
T5 = 1
"""


def outcome(function: Any, value: Any) -> str:
    try:
        return str(function(value))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("line", [*EXPRESSIONS, *STATEMENTS])
def test_an_input_decides_or_is_lost(line: str) -> None:
    statements, _, expression = line.rpartition(" => ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = indent(statements.replace("\\n", "\n"), "    ")
        source = f"{BEFORE}def f(x):\n{body}\n    return 'yes' if ({expression}) else 'no'\n"
        plain = plain_program(source).f
        results: dict[str, int] = {}
        for value in range(1 << WIDTH):
            results.setdefault(outcome(plain, value), value)
        assert len(results) > 1, "the input makes no difference"
        followed: dict[Any, str] = {}
        for result, value in results.items():
            function = program(source).f
            with Surroundings(Hub(), 0).around(b"x"), Run({INPUT: value}) as run:
                assert outcome(function, integer(value, var(INPUT, WIDTH))) == result
            decided = tuple((str(made.condition), made.outcome) for made in run.decisions)
            if not run.losses:
                assert followed.setdefault(decided, result) == result, "the input slipped away"
