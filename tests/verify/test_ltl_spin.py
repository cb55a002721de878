"""Verdicts agree with SPIN's, on random systems and formulas, without and with weak fairness.

A build of SPIN's verifier holds a system and many formulas.  How many systems there are is 5, or what
PENSTOCK_SPIN_SYSTEMS says.

Two things about SPIN 6.5.2 under fairness were found here.  Its verifier with exact states goes down without
end in some models of a few dozen states, storing the same ones again and again; with bit-state hashing it
does not, so that is what is compared with under fairness, with room for a thousand times the states.
And it takes no notice of runs that end at rest: in a model in which nothing can ever happen it finds
no run that breaks F p, though it does so without fairness.  So the models have an idle process
that repeats a state at rest; where there is none, runs are compared without fairness.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.verify.ltl_systems import SIGNATURE, Bits, Processes, in_spin, random_formula, random_processes

from penstock._verify.ltl.checking import decide, property_of
from penstock._verify.ltl.syntax import Formula

SYSTEMS = int(os.environ.get("PENSTOCK_SPIN_SYSTEMS", "5"))
FORMULAS = 20


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout


def _verifier(folder: Path, system: Processes, formulas: list[Formula], *, idle: bool) -> None:
    """Build SPIN's verifier for a system; its claims are called f0, f1, …"""
    claims = [f"ltl f{number} {{ {in_spin(formula)} }}" for number, formula in enumerate(formulas)]
    (folder / "model.pml").write_text("\n".join([system.promela(idle=idle), *claims, ""]))
    _run(folder, "spin", "-a", "model.pml")
    compiler = ("gcc", "-w", "-O0", "-DNOREDUCE", "pan.c", "-o")
    _run(folder, *compiler, "unfair", "-DNOFAIR")
    if idle:
        _run(folder, *compiler, "fair", "-DBITSTATE")


def _breaks(folder: Path, number: int, *, fair: bool) -> bool:
    """Tell whether SPIN finds a run that breaks a formula; states at rest are no errors to it (-E)."""
    verifier = ["./fair", "-f", "-w22"] if fair else ["./unfair", "-w14"]
    printed = _run(folder, *verifier, "-a", "-E", "-m20000", "-N", f"f{number}")
    found = re.search(r"errors: (\d+)", printed)
    assert found is not None and "max search depth too small" not in printed, printed
    return found.group(1) != "0"


def _compare(folder: Path, seed: int, *, idle: bool) -> Counter[str]:
    """Compare the verdicts on one system and many formulas; return how often each came."""
    random = Random(seed)
    system = random_processes(random)
    formulas = [random_formula(random, random.randint(1, 5)) for _ in range(FORMULAS)]
    _verifier(folder, system, formulas, idle=idle)
    verdicts: Counter[str] = Counter()
    for number, formula in enumerate(formulas):
        grounded = property_of(str(formula), SIGNATURE, Bits(), system.initial())
        for fair in (False, True) if idle else (False,):
            verdict = decide(system, grounded, fair=system.actors if fair else ())
            verdicts[verdict.result] += 1
            assert verdict.divergence == ""
            broken = _breaks(folder, number, fair=fair)
            assert (verdict.result == "violated") == broken, f"{formula}, {fair=}\n{system.promela()}"
    return verdicts


@pytest.fixture(autouse=True)
def _tools(require_tool: Callable[..., Path]) -> None:
    for tool in ("spin", "gcc"):
        require_tool(tool)


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_verdicts_are_those_of_spin_with_and_without_fairness(seed: int, tmp_path: Path) -> None:
    verdicts = _compare(tmp_path, seed, idle=True)
    assert verdicts["violated"] and verdicts["proved"]


@pytest.mark.parametrize("seed", range(SYSTEMS, SYSTEMS + SYSTEMS // 5))
def test_a_run_that_comes_to_rest_goes_on_as_in_spin(seed: int, tmp_path: Path) -> None:
    verdicts = _compare(tmp_path, seed, idle=False)
    assert verdicts["violated"] and verdicts["proved"]
