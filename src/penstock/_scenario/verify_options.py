"""What a scenario says of proofs, in its table `[verify]`.

    [verify]
    properties = ["G forall p in h2.rcvq: not p.ssh", "NoForwardingLoops"]
    mode = "penstock"
    timeouts = true

A property is a formula (see `vocabulary` for what it may say) or one of the names in `named_properties`.
Where the table has none, those of the scenario's own properties count that a proof knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from penstock._base.tables import made_from
from penstock._base.typed import Checked

Method = Literal["mocs", "ample", "kuai", "off", "penstock"]
"""By which reductions a proof goes about (see `_verify.verification`)."""


@dataclass(frozen=True, slots=True)
class VerifyOptions(Checked):
    """How a proof goes about."""

    SECTION: ClassVar[str] = "[verify]"

    properties: tuple[str, ...] = ()
    """What is to be proved: formulas, as in `G forall p in h2.rcvq: not p.ssh`, or names."""
    mode: Method = "penstock"
    """By which reductions (see `_verify.verification`)."""
    fair: bool = False
    """A step that can be taken for ever is taken again and again (weak fairness)."""
    timeouts: bool = False
    """A rule that has a timeout may vanish at any moment."""


def options_of(table: Mapping[str, Any]) -> VerifyOptions:
    """Return the options that a table gives."""
    return made_from(VerifyOptions, table, "verify")
