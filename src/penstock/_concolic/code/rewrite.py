"""Rewriting a program's source so that what it does with its inputs can be followed.

Comparisons and arithmetic are followed by the values themselves.  What Python does on its own (look
a key up by its hash, call a function written in C, put a text together) is not: there, the rewritten
program first hands the object concerned to one of our functions, its *hook*, and goes on with what
it gets back:

    d[k]            __penstock_item__(d)[k]           loads, stores, deletions, `+=`
    k in d          k in __penstock_in__(d)           chained comparisons too
    f(x)            __penstock_call__(f)(x)
    a % b           __penstock_template__(a) % b
    a | b           __penstock_left__(a) | b          and `&`, `-`, `^`: these may be sets
    a += b          a = __penstock_in_place__("add", a, b)     unless b is a constant
    a < b           __penstock_operand__(a) < b       and other operators, unless b is a constant
    a is b          __penstock_is__(a, b)
    {a, b}          __penstock_set__()([a, b])        and dictionaries, and both comprehensions
    f"{a}-{b}"      __penstock_join__((f"{__penstock_value__(a)}", "-", f"{__penstock_value__(b)}"))
    ip.packed       __penstock_address__(ip).packed   a few attributes of addresses
    a.b = c         __penstock_into__(a).b = c
    match a:        match __penstock_subject__(a):
    a.__class__     __penstock_class__(a)
    eval(a)         eval(__penstock_code__(a, "eval"))
    return a        return __penstock_returned__(a)   in `__len__`, `__bool__` and their like

While no run is going on, a hook gives back the very object it got (`set`, `dict` and the plain text
for the last four), so the program does what it did before, in the same order, with every operand
evaluated once; functions that look at their caller (`super()`, `locals()`, `namedtuple`) find it, and
no frame of ours is in a traceback.  Every node keeps its place in the source.

Annotations and patterns of `match` stay as they are: names in them are not looked up as values.  What was
rewritten is known by its code (`FOLLOWED`); a function with any other code is a stranger.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, ModuleType
from typing import Any, Final, cast

from penstock._concolic.run import HOOK, MARK

ITEM: Final = "__penstock_item__"
IN: Final = "__penstock_in__"
CALL: Final = "__penstock_call__"
TEMPLATE: Final = "__penstock_template__"
LEFT: Final = "__penstock_left__"
IN_PLACE: Final = "__penstock_in_place__"
SET: Final = "__penstock_set__"
DICT: Final = "__penstock_dict__"
PAIRS: Final = "__penstock_pairs__"
JOIN: Final = "__penstock_join__"
VALUE: Final = "__penstock_value__"
TO_FORMAT: Final = "__penstock_to_format__"
ADDRESS: Final = "__penstock_address__"
OPERAND: Final = "__penstock_operand__"
IS: Final = "__penstock_is__"
IS_NOT: Final = "__penstock_is_not__"
IDENTITY: Final = "__penstock_identity__"
INTO: Final = "__penstock_into__"
SUBJECT: Final = "__penstock_subject__"
CLASS: Final = "__penstock_class__"
CODE: Final = "__penstock_code__"
SCOPE: Final = "__penstock_scope__"
RETURNED: Final = "__penstock_returned__"

FOLLOWED: Final[dict[int, CodeType]] = {}
"""The code that was rewritten, by identity."""

ADDRESS_KINDS: Final = frozenset(
    {
        *("is_private", "is_global", "is_multicast", "is_loopback", "is_link_local", "is_site_local"),
        *("is_reserved", "is_unspecified"),
    }
)
"""Attributes that tell what kind of address an object of `ipaddress` is."""

ADDRESS_ATTRIBUTES: Final = ADDRESS_KINDS | {
    *("packed", "words", "exploded", "compressed", "bin", "bits", "value", "reverse_dns", "reverse_pointer"),
    *("oui", "iab", "ei", "info", "ipv4_mapped", "sixtofour", "teredo", "scope_id", "max_prefixlen"),
    *("first", "last", "size", "ip", "cidr", "network", "broadcast", "netmask", "hostmask", "version"),
}
"""Attributes of address objects that their libraries work out when they are asked for."""

_CALLS_LEFT_ALONE: Final = frozenset({"super", "locals", "globals", "vars", "dir"})
_RUN_TEXT: Final = frozenset({"eval", "exec"})
_FOR_PYTHON: Final = frozenset({"__len__", "__length_hint__", "__bool__", "__index__", "__int__"})
"""Methods from which Python itself takes a number, and nothing that depends on the inputs."""

_SET_OPERATORS: Final = (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub)

_IN_PLACE: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.BitAnd: "and",
}
"""What the operators of assignments are called."""

_KEPT: Final = f"{HOOK}kept_"
"""How the variables are called that hold the parts of an assignment's target."""


def followed(source: str, filename: str) -> CodeType:
    """Compile a program so that it is followed; its module must be equipped before it runs."""
    return _known(compile(rewritten(source, filename), filename, "exec", dont_inherit=True))


def followed_text(source: str, mode: str) -> CodeType:
    """Compile a text that a program has run by `eval` or `exec`, so that it is followed."""
    tree = compile(source, "<string>", mode, ast.PyCF_ONLY_AST, dont_inherit=True)
    return _known(compile(_Rewriter().visit(tree), "<string>", mode, dont_inherit=True))


def _known(code: CodeType) -> CodeType:
    """Remember code, and what is nested in it, as rewritten."""
    FOLLOWED[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _known(constant)
    return code


def rewritten(source: str, filename: str) -> ast.Module:
    """Return the syntax tree of a program that is followed."""
    tree = compile(source, filename, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    return cast(ast.Module, _Rewriter().visit(tree))


def equip(module: ModuleType, *, as_library: bool = False) -> None:
    """Give a module the hooks that its rewritten code calls, and the mark of a program that is followed.

    A library is not marked: what happens in it is told with the line of the program that called it.
    """
    vars(module).update(hooks() if as_library else {MARK: True, **hooks()})


@cache
def hooks() -> Mapping[str, Callable[..., Any]]:
    """Return the hooks by name."""
    # Whoever only compiles needs none of these.
    from penstock._concolic.code import (
        calls,
        displays,
        evaluation,
        identity,
        membership,
        operands,
        subscripts,
    )
    from penstock._concolic.code.summaries import addresses, formatting

    return {
        OPERAND: operands.operand,
        IS: identity.same,
        IS_NOT: identity.different,
        IDENTITY: identity.itself,
        INTO: subscripts.written_to,
        SUBJECT: identity.subject,
        CLASS: identity.class_of,
        CODE: evaluation.code,
        SCOPE: evaluation.scope,
        RETURNED: identity.returned,
        ITEM: subscripts.indexed,
        IN: membership.searched,
        CALL: calls.called,
        TEMPLATE: operands.left_of_mod,
        LEFT: operands.left,
        IN_PLACE: operands.in_place,
        SET: displays.set_maker,
        DICT: displays.dict_maker,
        PAIRS: displays.pairs,
        JOIN: formatting.joined,
        VALUE: formatting.interpolated,
        TO_FORMAT: formatting.to_format,
        ADDRESS: addresses.opened,
    }


class _Rewriter(ast.NodeTransformer):
    """Puts the hooks in; every expression is visited once, from the inside out."""

    _names = 0
    """How many variables of ours there are."""

    _told_to_python = False
    """Whether what is returned goes to Python itself, and not to whoever called."""

    # Where values are looked up.

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        node.value = _hooked(ITEM, node.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            return self._identity(node)
        operands = [node.left, *node.comparators]
        for at, operator in enumerate(node.ops):
            if isinstance(operator, ast.Is | ast.IsNot):
                operands[at : at + 2] = [_hooked(IDENTITY, each) for each in operands[at : at + 2]]
            elif isinstance(operator, ast.In | ast.NotIn):
                if not _tested_for_identity(node, at + 1):
                    operands[at + 1] = _hooked(IN, operands[at + 1])
            elif _may_need_help(operands[at], operands[at + 1]) and not _tested_for_identity(node, at - 1):
                operands[at] = _hooked(OPERAND, operands[at])
        node.left, node.comparators = operands[0], operands[1:]
        return node

    def _identity(self, node: ast.Compare) -> ast.expr:
        """Return `a is b` as a question to a hook; that something is None is no matter of inputs."""
        operands = [node.left, node.comparators[0]]
        if any(_is_constant(each, type(None)) for each in operands):
            return node
        return _call(IS if isinstance(node.ops[0], ast.Is) else IS_NOT, operands, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _RUN_TEXT:
            return _running(node, node.func.id)
        if not (isinstance(node.func, ast.Name) and node.func.id in _CALLS_LEFT_ALONE):
            node.func = _hooked(CALL, node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store):
            node.value = _hooked(INTO, node.value)
        elif isinstance(node.ctx, ast.Load) and node.attr == "__class__":
            return _hooked(CLASS, node.value)
        elif isinstance(node.ctx, ast.Load) and node.attr in ADDRESS_ATTRIBUTES:
            node.value = _hooked(ADDRESS, node.value)
        return node

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        self.generic_visit(node)
        values = [
            each.value
            for case in node.cases
            for each in ast.walk(case.pattern)
            if isinstance(each, ast.MatchValue) and not _is_constant(each.value)
        ]
        given = [node.subject]
        if values:
            # They are attributes, and reading one twice does no harm.
            taken = ast.Tuple([copy.deepcopy(value) for value in values], ast.Load())
            none = ast.arguments([], [], None, [], [], None, [])
            given.append(ast.Lambda(none, taken))
        node.subject = ast.fix_missing_locations(_call(SUBJECT, given, node.subject))
        return node

    # Where values are put together.

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod):
            if not _is_constant(node.left, int):
                node.left = _hooked(TEMPLATE, node.left)
        elif isinstance(node.op, _SET_OPERATORS) and not any(map(_is_constant, (node.left, node.right))):
            node.left = _hooked(LEFT, node.left)
        elif _may_need_help(node.left, node.right):
            node.left = _hooked(OPERAND, node.left)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if _is_constant(node.value, int | str | bytes) or _takes_slice(node.target):
            return node
        name = _constant(_IN_PLACE[type(node.op)], node.value)
        before, target = self._evaluated_once(node.target)
        value = _call(IN_PLACE, [name, _loaded(target), node.value], node.value)
        assigned: ast.stmt = ast.copy_location(ast.Assign([target], value), node)
        if not before:
            return assigned
        # The program could see these among its variables.
        names: list[ast.expr] = [
            ast.copy_location(ast.Name(each.targets[0].id, ast.Del()), node) for each in before
        ]
        gone = ast.copy_location(ast.Delete(names), node)
        return [*before, ast.copy_location(ast.Try([assigned], [], [], [gone]), node)]

    def _evaluated_once(self, target: ast.expr) -> tuple[list[Any], Any]:
        """Return an assignment's target as one that can be both read and written, and what comes before."""
        if isinstance(target, ast.Name):
            return [], target
        before: list[Any] = []

        def kept(node: ast.expr) -> ast.expr:
            if isinstance(node, ast.Name | ast.Constant):
                return node
            self._names += 1
            name = f"{_KEPT}{self._names}__"
            stored = ast.copy_location(ast.Name(name, ast.Store()), node)
            before.append(ast.copy_location(ast.Assign([stored], node), node))
            return ast.copy_location(ast.Name(name, ast.Load()), node)

        assert isinstance(target, ast.Attribute | ast.Subscript)
        target.value = kept(target.value)
        if isinstance(target, ast.Subscript):
            target.slice = kept(target.slice)
        return before, target

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        if all(map(_is_constant, node.elts)):
            return node
        return _made(SET, ast.List(node.elts, ast.Load()), node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        self.generic_visit(node)
        return _made(SET, ast.ListComp(node.elt, node.generators), node)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.generic_visit(node)
        if all(key is not None and _is_constant(key) for key in node.keys):
            return node
        items: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                merged = _hooked(PAIRS, value)
                items.append(ast.copy_location(ast.Starred(merged, ast.Load()), value))
            else:
                items.append(ast.copy_location(ast.Tuple([key, value], ast.Load()), key))
        return _made(DICT, ast.List(items, ast.Load()), node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        self.generic_visit(node)
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node.key)
        return _made(DICT, ast.ListComp(pair, node.generators), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                # A text of one part comes out as its part made it, whatever kind of text that is.
                parts.append(ast.copy_location(ast.JoinedStr([self._formatted(part)]), part))
            else:
                parts.append(part)
        if not parts:
            return node
        if len(parts) == 1:
            return ast.copy_location(parts[0], node)
        together = ast.copy_location(ast.Tuple(parts, ast.Load()), node)
        return _call(JOIN, [together], node)

    def _formatted(self, node: ast.FormattedValue) -> ast.FormattedValue:
        """Return one value of a text; what is to be made of it first (`!r`) is left to its hook."""
        value: ast.expr = self.visit(node.value)
        conversion = [] if node.conversion < 0 else [_constant(chr(node.conversion), node.value)]
        varies = isinstance(node.format_spec, ast.JoinedStr) and not all(
            map(_is_constant, node.format_spec.values)
        )
        node.value = _call(TO_FORMAT if varies else VALUE, [value, *conversion], value)
        node.conversion = -1
        if varies and node.format_spec is not None:
            spec: ast.expr = self.visit(node.format_spec)
            if not isinstance(spec, ast.JoinedStr):
                # The grammar wants a text here; one of a single part stays that part.
                whole = ast.FormattedValue(spec, -1, None)
                spec = ast.copy_location(ast.JoinedStr([ast.copy_location(whole, spec)]), spec)
            node.format_spec = spec
        return node

    # What stays as it is.

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        node.target = self.visit(node.target)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.args = self.visit(node.args)
        outer, self._told_to_python = self._told_to_python, node.name in _FOR_PYTHON
        node.body = self._statements(node.body)
        self._told_to_python = outer
        return node

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return statements rewritten; some become several."""
        found: list[ast.stmt] = []
        for statement in body:
            made = self.visit(statement)
            found += made if isinstance(made, list) else [made]
        return found

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        self.generic_visit(node)
        if self._told_to_python and node.value is not None and not _is_constant(node.value):
            node.value = _hooked(RETURNED, node.value)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        node.body = self._statements(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.bases = [self.visit(base) for base in node.bases]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        node.body = self._statements(node.body)
        return node

    def visit_TypeAlias(self, node: ast.stmt) -> ast.stmt:
        return node


def _tested_for_identity(node: ast.Compare, at: int) -> bool:
    """Tell whether the comparison goes on with `is`, which no stand-in for an object survives."""
    return 0 <= at < len(node.ops) and isinstance(node.ops[at], ast.Is | ast.IsNot)


def _may_need_help(left: ast.expr, right: ast.expr) -> bool:
    """Tell whether the left operand may be one that would not let the right one be followed."""
    plain = isinstance(left, ast.Constant) and type(left.value) in (int, str, bytes)
    return not plain and not _is_constant(right)


def _running(node: ast.Call, mode: str) -> ast.expr:
    """Return a call that has a text run as code, with the text handed to a hook."""
    if not node.args or isinstance(node.args[0], ast.Starred):
        return node
    first, *others = node.args
    alone = ast.copy_location(ast.Constant(not others and not node.keywords), first)
    node.args = [
        _call(CODE, [first, _constant(mode, first), alone], first),
        *(each if isinstance(each, ast.Starred) else _hooked(SCOPE, each) for each in others),
    ]
    return node


def _takes_slice(target: ast.expr) -> bool:
    """Tell whether an assignment is to a part of a sequence, which takes in what it is given as it is."""
    return isinstance(target, ast.Subscript) and any(
        isinstance(part, ast.Slice) for part in ast.walk(target.slice)
    )


def _loaded(target: Any) -> ast.expr:
    """Return the expression that reads what an assignment writes."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)


def _is_constant(node: ast.expr, kinds: Any = object) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, kinds)


def _constant(value: str, like: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Constant(value), like)


def _hooked(name: str, node: ast.expr) -> ast.expr:
    """Return an expression handed to a hook."""
    return _call(name, [node], node)


def _made(name: str, parts: ast.expr, node: ast.expr) -> ast.expr:
    """Return parts put together by whatever a hook says."""
    made = ast.Call(_call(name, [], node), [ast.copy_location(parts, node)], [])
    return ast.copy_location(made, node)


def _call(name: str, arguments: list[ast.expr], like: ast.expr) -> ast.expr:
    hook = ast.copy_location(ast.Name(name, ast.Load()), like)
    return ast.copy_location(ast.Call(hook, arguments, []), like)
