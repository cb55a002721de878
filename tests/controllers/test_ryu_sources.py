"""Ryu's sources are fetched by pip, as pip is set up, and never built."""

import io
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock._base import ryu_names
from penstock._cli.main import commands
from penstock._controllers.osken import ryu_sources
from penstock.errors import PenstockError

ARCHIVE = {
    "PKG-INFO": "Metadata-Version: 1.1\nName: ryu\nVersion: 4.34\n",
    "setup.py": "raise SystemExit('this must not be run')\n",
    "ryu/__init__.py": "",
    "ryu/app/__init__.py": "",
    "ryu/app/simple_switch_13.py": "APP = 'the one of the index'\n",
}


def write_archive(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    with tarfile.open(folder / "ryu-4.34.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            about = tarfile.TarInfo(f"ryu-4.34/{name}")
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text.encode()))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give pip an index in a folder, and Penstock an empty cache; return the folder of Ryu in the index."""
    simple = tmp_path / "simple"
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", simple.as_uri())
    monkeypatch.setattr(ryu_sources, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(ryu_names, "cache_folder", lambda: tmp_path / "cache")
    return simple / "ryu"


def offer(index: Path, files: dict[str, str]) -> None:
    write_archive(index, files)
    (index / "index.html").write_text('<a href="ryu-4.34.tar.gz">ryu-4.34.tar.gz</a>')


def test_they_are_fetched_from_pips_index_and_their_setup_is_not_run(index: Path, tmp_path: Path) -> None:
    offer(index, ARCHIVE)
    folder = ryu_sources.fetch()
    assert folder == tmp_path / "cache" / "ryu-4.34" / "ryu"
    assert "the one of the index" in (folder / "app" / "simple_switch_13.py").read_text()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["ryu-4.34"]


def test_a_second_time_nothing_is_fetched(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(index, ARCHIVE)
    folder = ryu_sources.fetch()
    monkeypatch.setenv("PIP_INDEX_URL", "file:///nowhere")
    done = CliRunner().invoke(commands, ["fetch-ryu"], standalone_mode=False)
    assert done.output == f"The sources of Ryu are in {folder}\n"


def test_an_index_without_them_is_one_sentence_and_leaves_nothing(index: Path, tmp_path: Path) -> None:
    with pytest.raises(
        PenstockError, match=r"pip could not download ryu-4\.34 \(.*ryu==4\.34\): check pip's"
    ):
        ryu_sources.fetch()
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_archive_without_the_apps_is_refused(index: Path) -> None:
    offer(index, {name: text for name, text in ARCHIVE.items() if "app" not in name})
    with pytest.raises(PenstockError, match=r"has no folder ryu-4\.34/ryu/app: check pip's index"):
        ryu_sources.fetch()


def test_a_python_without_pip_is_told_how_to_have_it(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(PenstockError, match=f"This Python has no pip: run {sys.executable} -m ensurepip"):
        ryu_sources.fetch()
