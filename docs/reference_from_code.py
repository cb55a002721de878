"""The parts of the reference that are made from the code: the fields of scenarios, and the properties.

`scenario-fields module:Class` lists the fields of a dataclass with their types, defaults and the texts below
them in the source; `properties` lists the library's properties with what they demand and take.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from importlib import import_module
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from penstock.properties.registry import PROPERTIES


class _FromCode(SphinxDirective):
    """A directive whose contents are written as reStructuredText."""

    def lines(self) -> Iterator[str]:
        """Yield the contents."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the contents, parsed."""
        # The page is Markdown; what is made here is not.
        made = publish_doctree("\n".join(self.lines()), settings_overrides={"halt_level": 2})
        return [node.deepcopy() for node in made.children]


class ScenarioFields(_FromCode):
    """The fields of a dataclass, as a table."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"leave-out": directives.unchanged}

    def lines(self) -> Iterator[str]:
        """Yield what the class says of itself, then its fields."""
        module, _, name = self.arguments[0].partition(":")
        kind = getattr(import_module(module), name)
        left_out = self.options.get("leave-out", "").split()
        told = _texts_below_fields(kind)
        yield from _as_rst(inspect.getdoc(kind) or "").splitlines()
        yield ""
        yield from (
            ".. list-table::",
            "   :header-rows: 1",
            "",
            "   * - field",
            "     - type",
            "     - default",
        )
        yield "     - meaning"
        for item in fields(kind):
            if item.name not in left_out:
                yield f"   * - ``{item.name}``"
                yield f"     - ``{item.type}``"
                yield f"     - ``{_default(item)}``"
                yield f"     - {_as_rst(told.get(item.name, ''))}"


class Properties(_FromCode):
    """The properties of the library."""

    def lines(self) -> Iterator[str]:
        """Yield each property with its sentence, what it needs, and its options."""
        for name, kind in PROPERTIES.items():
            yield f"``{name}``"
            for paragraph in (inspect.getdoc(kind) or kind.sentence).split("\n\n"):
                yield f"    {_as_rst(' '.join(paragraph.split()))}"
                yield ""
            if kind.needs:
                yield f"    To be put to the test it needs {_as_rst(kind.needs)}."
                yield ""
            options = inspect.signature(kind).parameters.values()
            if options:
                yield f"    Options: {', '.join(f'``{each}``' for each in options)}"
                yield ""


def _default(item: Field[Any]) -> str:
    if item.default is not MISSING:
        return repr(item.default)
    return repr(item.default_factory()) if item.default_factory is not MISSING else "required"


def _texts_below_fields(kind: type) -> dict[str, str]:
    """Return the texts that stand below fields in the source of a class, by field."""
    (tree,) = ast.parse(inspect.cleandoc(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for before, after in zip(tree.body, tree.body[1:], strict=False):
        match before, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


def _as_rst(text: str) -> str:
    """Return a docstring's text with its code marked as reStructuredText has it."""
    return text.replace("`", "``")


def _spaced(_app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """Give the docstrings of modules the blank lines and colons that reStructuredText wants."""
    found: list[str] = []
    for line in lines:
        above = found[-1] if found else ""
        if line.startswith("- ") and above and not above.startswith(("- ", "  ")):
            found.append("")
        if line.startswith("    ") and not above:
            text = next((each for each in reversed(found) if each), "")
            if not text.startswith("    ") and not text.endswith("::"):
                found += ["::", ""]
        found.append(line)
    lines[:] = found


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of the directives."""
    app.add_directive("scenario-fields", ScenarioFields)
    app.add_directive("properties", Properties)
    app.connect("autodoc-process-docstring", _spaced)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
