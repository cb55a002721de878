"""Random terms over a few small inputs, so small that all values can be tried."""

from collections.abc import Callable
from itertools import product

from hypothesis import strategies as st

from penstock._concolic import terms
from penstock._concolic.space import Space, Variable
from penstock._concolic.terms import Term

VARIABLES = (Variable("a", 4, (9, 2)), Variable("b", 4, (0, 15)), Variable("c", 3, (5,)))
SPACE = Space(VARIABLES)
EVERYTHING = [
    dict(zip((variable.name for variable in VARIABLES), values, strict=True))
    for values in product(*(range(1 << variable.width) for variable in VARIABLES))
]
"""All inputs there are."""

leaves = st.one_of(
    st.sampled_from([variable.term for variable in VARIABLES]),
    st.integers(-3, 20).map(terms.const),
)

arithmetic = st.sampled_from(
    [
        terms.add,
        terms.sub,
        terms.mul,
        terms.bit_and,
        terms.bit_or,
        terms.bit_xor,
        terms.eq,
        terms.lt,
        terms.le,
    ]
)


INVERSIONS: list[Callable[[Term], Term]] = [
    terms.invert,
    terms.negate,
    lambda term: terms.negation(terms.truth(term)),
]


@st.composite
def operations(draw: st.DrawFn, parts: st.SearchStrategy[Term]) -> Term:
    """Draw one operation on terms drawn from elsewhere."""
    one, other = draw(parts), draw(parts)
    match draw(
        st.sampled_from(["arithmetic", "divide", "shift", "bits", "join", "ite", "connect", "invert"])
    ):
        case "divide":
            divisor = other if other.low > 0 else terms.const(draw(st.integers(1, 9)))
            return draw(st.sampled_from([terms.floordiv, terms.mod]))(one, divisor)
        case "shift":
            distance = other if other.low >= 0 and other.high < 20 else terms.const(draw(st.integers(0, 5)))
            return draw(st.sampled_from([terms.shl, terms.shr]))(one, distance)
        case "bits" if one.low >= 0:
            return terms.bits(one, draw(st.integers(0, 4)), draw(st.integers(1, 5)))
        case "join" if one.low >= 0 and other.low >= 0:
            room = st.integers(0, 2)
            return terms.join([(part, max(part.high.bit_length(), 1) + draw(room)) for part in (one, other)])
        case "ite":
            return terms.ite(terms.truth(draw(parts)), one, other)
        case "connect":
            connect = draw(st.sampled_from([terms.both, terms.either]))
            return connect(terms.truth(one), terms.truth(other))
        case "invert":
            return draw(st.sampled_from(INVERSIONS))(one)
        case _:
            return draw(arithmetic)(one, other)


numbers = st.recursive(leaves, operations, max_leaves=10)
conditions = numbers.map(terms.truth)
