"""How a minimisation went is drawn from its progress, whoever wrote that."""

import json
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from penstock._minimize.progress import FORMAT, Progress
from penstock._replay.guided import Attempt
from penstock._rootcause.plotting import Point, as_svg, as_text, progress_file, read_points, turning_points
from penstock.errors import PenstockError

HEADER = json.dumps({"format": FORMAT, "digest": "0"})


def written(folder: Path, *sizes: int | None) -> Path:
    """Return the progress of a minimisation: what each replay needed, or None where it led nowhere."""
    progress = Progress("digest", folder)
    for number, size in enumerate(sizes):
        ask = partial(Attempt, reproduced=size is not None, needed=size, seconds=0.5)
        progress.answer(str(number), size or 0, ask)
    return folder / "progress.jsonl"


def test_the_size_only_goes_down(tmp_path: Path) -> None:
    points = read_points(written(tmp_path, 60, None, 30, 45, 2))
    assert [point.size for point in points] == [60, 60, 30, 30, 2]
    assert [point.reproduced for point in points] == [True, False, True, True, True]
    assert points[-1].seconds == 2.5


def test_only_what_changed_has_a_bar(tmp_path: Path) -> None:
    points = read_points(written(tmp_path, 60, None, 30, 45, 2, None))
    assert [point.replay for point in turning_points(points)] == [1, 3, 5, 6]
    lines = list(as_text(points, width=60))
    assert [line.count("█") for line in lines[:4]] == [60, 30, 2, 2]
    assert lines[-1] == "60 inputs became 2 in 6 replays and 3.0 s of replaying."


def test_the_picture_is_svg_with_a_dot_for_each_success(tmp_path: Path) -> None:
    root = ElementTree.fromstring(as_svg(read_points(written(tmp_path, 60, None, 30, 2))))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(root.findall("{*}circle")) == 3
    labels = {found.text for found in root.findall("{*}text")}
    assert {"replays", "inputs in the shortest sequence", "60", "0"} <= labels


def test_nothing_yet_is_drawn_as_nothing(tmp_path: Path) -> None:
    points = read_points(written(tmp_path))
    assert points == []
    assert list(as_text(points)) == ["No replay was made yet."]
    assert ElementTree.fromstring(as_svg(points)).findall("{*}circle") == []


def test_a_sequence_of_no_inputs_has_no_bar() -> None:
    assert "█" not in next(iter(as_text([Point(1, True, 0, 0.1)])))


def test_a_line_that_is_cut_short_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, 5, 4)
    path.write_bytes(path.read_bytes()[:-10])
    assert [point.size for point in read_points(path)] == [5]


def test_the_file_is_found_in_its_folder_and_from_the_result(tmp_path: Path) -> None:
    path = written(tmp_path, 5)
    (tmp_path / "minimal").mkdir()
    assert progress_file(tmp_path) == progress_file(tmp_path / "minimal") == progress_file(path) == path
    bare = tmp_path / "a" / "b"
    bare.mkdir(parents=True)
    with pytest.raises(PenstockError, match=r"no progress\.jsonl"):
        progress_file(bare)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]\n",
        '{"format": "other"}\n',
        HEADER + "\nnonsense\n",
        HEADER + "\n" + "[" * 100_000 + "\n",
        HEADER + '\n{"reproduced": true, "seconds": 1, "needed": null}\n',
        HEADER + '\n{"reproduced": true, "seconds": 1, "needed": 1e400}\n',
        HEADER + '\n{"reproduced": true, "seconds": -1, "needed": 1}\n',
        HEADER + '\n{"reproduced": false, "seconds": NaN}\n',
        HEADER + '\n{"reproduced": 1, "seconds": 1, "needed": 1}\n',
    ],
)
def test_a_strangers_file_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "progress.jsonl"
    path.write_text(text)
    with pytest.raises(PenstockError):
        read_points(path)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="cannot be read"):
        read_points(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n")
    with pytest.raises(PenstockError, match="UTF-8"):
        read_points(tmp_path / "bytes")
