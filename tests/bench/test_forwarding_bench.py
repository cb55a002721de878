"""The forwarding benchmark runs, its model answers as a new one does, and it judges by its target."""

import json
import subprocess
import sys
from pathlib import Path

from bench.forwarding import SWITCHES, passes, planned

ROOT = Path(__file__).parents[2]


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.forwarding", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_rows_have_the_cost_of_updates_beside_that_of_a_full_recomputation() -> None:
    done = bench("--rules", "100", "300", "--updates", "20", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [abs(row["rules"] - size) <= SWITCHES for row, size in zip(found["rows"], (100, 300), strict=True)]
    for row in found["rows"]:
        assert row["same_as_full"]
        assert 0 < row["median_update_us"] <= row["p99_update_us"]
        assert row["full_us"] > 0


def test_the_printed_table_names_the_peers() -> None:
    done = bench("--rules", "100", "--updates", "4")
    assert "median_update_us" in done.stdout
    assert "VeriFlow" in done.stdout
    assert "Delta-net" in done.stdout


def test_tables_have_prefixes_inside_others_and_rules_of_several_fields() -> None:
    entries = [entry for _, entry in planned(1000).entries]
    prefixes = {e.match for e in entries if len(e.match.terms) == 2}
    inside = [a for a in prefixes if any(a != b and a.within(b) for b in prefixes)]
    assert len(inside) > len(prefixes) / 10
    assert sum(len(entry.match.terms) == 5 for entry in entries) == 100


def test_a_slow_median_at_the_target_or_a_wrong_answer_fails() -> None:
    row = {"rules": 10_000, "median_update_us": 900.0, "same_as_full": True}
    assert passes([row])
    assert not passes([{**row, "median_update_us": 1100.0}])
    assert not passes([{**row, "same_as_full": False}])
    assert passes([{**row, "rules": 100_000, "median_update_us": 1100.0}])


def test_too_few_rules_are_one_sentence() -> None:
    done = bench("--rules", "5")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_backbones_are_generated_where_there_is_no_data(tmp_path: Path) -> None:
    done = bench("--data", str(tmp_path / "nothing"), "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [row["network"] for row in found["rows"]] == ["generated-noacl", "generated"]
    for row in found["rows"]:
        assert row["loops"] == row["told_as_come"] == row["told_as_gone"] > 0
        assert row["updates"] > 7_000 and 0 < row["median_us"] <= row["p99_us"] and row["rss_mb"] > 0


def test_backbones_are_read_from_files(tmp_path: Path) -> None:
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "topo.txt").write_text("a p b q\nb q a p\n")
    routes = ["+ fwd a 0 0 p 0", "+ fwd b 0 0 q 0", "- fwd a 0 0 p 0"]
    (folder / "updates").write_text("\n".join(routes))
    row = json.loads(bench("--data", str(tmp_path), "--json").stdout)["rows"][0]
    assert (row["network"], row["updates"], row["loops"]) == ("two", 3, 0), (
        "what came in by a port stays there"
    )
