"""`penstock export` writes a file whole or not at all, and refuses in one sentence."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.disk_lab import file_limit
from tests.report.export.export_lab import exported, refused, rewritten, searched

from penstock._cli.exporting import export_command
from penstock._report.export.formats import FORMATS
from penstock.errors import PenstockError


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return searched(tmp_path_factory.mktemp("check"))


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_named_after_the_trace(
    name: str, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed, _ = exported(name, trace)
    target = f"{trace.stem}{FORMATS[name].suffix}"
    assert printed.decode() == f"Written to {target}.\n"
    assert [path.name for path in tmp_path.iterdir()] == [target]


@pytest.mark.parametrize("name", FORMATS)
def test_the_standard_output_is_as_good_as_a_file(name: str, trace: Path, tmp_path: Path) -> None:
    printed, _ = exported(name, trace, "-o", "-")
    exported(name, trace, "-o", tmp_path / "file")
    assert printed == (tmp_path / "file").read_bytes() != b""


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_no_trace_is_refused_and_an_old_file_stays(name: str, tmp_path: Path) -> None:
    (tmp_path / "no.jsonl").write_text("nothing\n")
    (tmp_path / "old").write_text("precious")
    for given in ("no.jsonl", "nowhere.jsonl", "."):
        sentence = refused(name, tmp_path / given, "-o", tmp_path / "old")
        assert sentence.endswith(".") and "\n" not in sentence
    assert (tmp_path / "old").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["no.jsonl", "old"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_trace_of_nothing_but_its_header_is_exported(name: str, trace: Path, tmp_path: Path) -> None:
    header = trace.read_text().splitlines()[0]
    (trace.parent / "empty.jsonl").write_text(header + "\n")
    exported(name, trace.parent / "empty.jsonl", "-o", tmp_path / "file")
    assert (tmp_path / "file").stat().st_size > 0


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if not form.takes_several])
def test_one_run_at_a_time(name: str, trace: Path) -> None:
    assert "give one trace" in refused(name, trace, trace, "-o", "-")


def test_a_folder_that_is_not_there_is_told(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "file"
    assert refused("shiviz", trace, "-o", target) == f"{target} cannot be written: No such file or directory."


def test_a_full_disk_is_told_in_one_sentence(trace: Path) -> None:
    from penstock._report.export.formats import export

    with file_limit(0), pytest.raises(PenstockError, match="cannot be written: File too large; make room"):
        export("shiviz", [trace], trace.parent / "full")
    assert not list(trace.parent.glob("full*"))


def test_remarks_cannot_steer_a_terminal(trace: Path, tmp_path: Path) -> None:
    def change(line: dict[str, object]) -> None:
        if line.get("step") == 5:
            line["transition"] = "deliver \x1b[2J:1"

    strange = rewritten(trace, trace.parent / "strange.jsonl", change)
    _, remark = exported("pcap", strange, "-o", tmp_path / "x.pcapng")
    assert "step 5" in remark and "\x1b" not in remark


def test_all_formats_are_listed_in_the_help() -> None:
    done = CliRunner().invoke(export_command, ["--help"])
    assert all(f"{name} " in done.output and form.title in done.output for name, form in FORMATS.items())


def test_a_header_with_a_scenario_of_nonsense_is_refused_or_drawn_without_it(
    trace: Path, tmp_path: Path
) -> None:
    lines = trace.read_text().splitlines()
    header = json.loads(lines[0])
    header["scenario"] = {"topology": ["?"], "controller": 7, "controllers": "x", "name": 5}
    odd = tmp_path / "odd.jsonl"
    odd.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    for name in ("shiviz", "dot", "mermaid", "junit", "sarif"):
        assert exported(name, odd, "-o", "-")[0]
    for name in ("pcap", "itf"):
        assert "\n" not in refused(name, odd, "-o", "-")
