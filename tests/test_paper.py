"""The command that runs the paper's experiments goes on where it was, and its page has them all."""

import sys
from pathlib import Path

import numpy as np
import pytest

from structsvm.io import read_media, with_labels

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "experiments"))

import _page  # noqa: E402
import _shows  # noqa: E402
import paper  # noqa: E402
from paper import PARTS, Part  # noqa: E402

PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_what_is_run_is_there(part):
    for line in filter(None, (part.command, part.quick)):
        assert line[0] == "make" or (ROOT / "experiments" / line[0]).is_file()


def test_every_experiment_of_the_paper_is_run():
    scripts = {
        path.name
        for pattern in ("table*.py", "figure*.py", "appendix*.py")
        for path in (ROOT / "experiments").glob(pattern)
    }
    assert scripts <= {part.command[0] for part in PARTS}
    assert scripts - {part.quick[0] for part in PARTS if part.quick} == set(), "nor left out in CI"


def test_the_page_has_every_table_and_figure():
    for name in (*_page.ROWS, "table1_shows", "paper_runs", "figure1_robustness_rank3"):
        assert f"<!-- begin {name} -->" in PAGE
    for picture in ("figure1_robustness.png", "figure2_pictures.png"):
        assert f"(paper/{picture})" in PAGE
        assert (ROOT / "docs" / "paper" / picture).is_file()
    assert "*Not run.*" not in PAGE


def test_no_photograph_without_a_licence_is_kept():
    assert not (ROOT / "docs" / "paper" / "table3_horses.png").exists()


class TestRunning:
    @pytest.fixture
    def parts(self, tmp_path, monkeypatch):
        """Return two experiments, of which the second fails until a file is there."""
        folder = tmp_path / "experiments"
        folder.mkdir()
        (tmp_path / "docs").mkdir()
        (folder / "one.py").write_text("open('runs', 'a').write('one ')\n")
        (folder / "two.py").write_text(
            "import os\nopen('runs', 'a').write('two ')\nraise SystemExit(not os.path.exists('ok'))"
        )
        (folder / "_page.py").write_text("open('runs', 'a').write('page ')\n")
        monkeypatch.setattr(paper, "ROOT", tmp_path)
        monkeypatch.setattr(paper, "FOLDER", folder)
        return [Part(name, (f"{name}.py",), None, "-", "-", 1) for name in ("one", "two")]

    def run(self, parts, **settings):
        return paper.main(False, settings.get("fresh", False), (), 60, parts)

    def test_it_goes_on_where_it_was(self, parts, tmp_path, capsys):
        assert self.run(parts) == 1
        said = capsys.readouterr().out
        assert "[1/2] one: one.py" in said
        assert f"failed: two; see {tmp_path / '.cache' / 'paper' / 'two.log'}" in said
        (tmp_path / "ok").touch()
        assert self.run(parts) == 0
        said = capsys.readouterr().out
        assert "done before: one" in said
        assert "[1/1] two: two.py" in said
        assert (tmp_path / "runs").read_text() == "one two page two page "

    def test_what_has_changed_runs_again(self, parts, tmp_path):
        (tmp_path / "ok").touch()
        assert self.run(parts) == 0
        with (tmp_path / "experiments" / "one.py").open("a") as script:
            script.write("# otherwise\n")
        assert self.run(parts) == 0
        assert (tmp_path / "runs").read_text() == "one two page one page "

    def test_runs_beside_each_other_keep_both_times(self, parts, tmp_path):
        first, second = (paper.Book(tmp_path / "book.json") for _ in range(2))
        first.add(parts[0], ("one.py",), True, 1.0, 0.5)
        second.add(parts[1], ("two.py",), True, 2.0, 0.5)
        found = paper.Book(tmp_path / "book.json").parts
        assert {name: run["seconds"] for name, run in found.items()} == {"one": 1.0, "two": 2.0}

    def test_all_is_forgotten_if_that_is_wanted(self, parts, tmp_path):
        (tmp_path / "ok").touch()
        assert self.run(parts) == 0
        assert self.run(parts, fresh=True) == 0
        assert (tmp_path / "runs").read_text() == "one two page " * 2

    def test_data_that_are_missing_are_named(self, parts, tmp_path, monkeypatch, capsys):
        monkeypatch.setenv("STRUCTSVM_DATA", str(tmp_path / "data"))
        needs = Part("three", ("one.py",), None, "-", "-", 1, "horses", "fetch_horses")
        assert self.run([needs]) == 0
        assert (
            f"{tmp_path / 'data' / 'horses'} is missing (fetch_horses)" in capsys.readouterr().out
        )
        assert (tmp_path / "runs").read_text() == "page "


class TestShows:
    SIZE = _shows.Size(60, (2, 3))

    @pytest.fixture
    def without_espeak(self, monkeypatch):
        """Let speech be made of formants, as where espeak-ng is not installed."""
        monkeypatch.setattr(_shows.shutil, "which", lambda program: None)
        for cached in (_shows._sentences, _shows.speech_in_words):
            cached.cache_clear()
        yield
        for cached in (_shows._sentences, _shows.speech_in_words):
            cached.cache_clear()

    def test_a_show_is_read_as_it_was_written(self, tmp_path, without_espeak):
        film = tmp_path / "show.mkv"
        made = _shows.write_show(film, self.SIZE, "test", 5)
        (show,) = with_labels([read_media(film)], film.with_suffix(".csv"))
        assert show.X.shape == (60, 102)
        found = np.flatnonzero(show.y[1:] != show.y[:-1]) + 1
        assert len(found) == len(made.changes)
        assert np.abs(found - made.changes).max() <= 0.5
        assert set(show.y) == set(_shows.KINDS)

    def test_the_same_seed_gives_the_same_show(self, tmp_path, without_espeak):
        twice = [_shows.write_show(tmp_path / f"{i}.mkv", self.SIZE, "learn", 1) for i in (0, 1)]
        assert twice[0] == twice[1]
        np.testing.assert_array_equal(*(read_media(tmp_path / f"{i}.mkv").X for i in (0, 1)))

    def test_nobody_is_heard_in_two_kinds_of_shows(self):
        voices = [voice for of_use in _shows.VOICES.values() for voice in of_use]
        assert len(set(voices)) == len(voices)

    def test_formants_are_told(self, without_espeak):
        assert "espeak-ng is not installed" in _shows.speech_in_words()
