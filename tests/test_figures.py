"""Printed numbers are those of the files of docs/paper, which say where they come from."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "experiments"))

from _cache import Pieces  # noqa: E402
from _figures import PAPER, faults, faults_of_file, pages, store  # noqa: E402
from _origin import commits_in, kept_from, origin  # noqa: E402

ORIGIN = {"command": "a.py", "commits": ["abc"], "date": "2026-01-01", "machine": "one"}
ROWS = [
    {"method": "ours", "metric": "full", "loss": 1.234, "gain": "+0.30 (-0.10 to +0.51)"},
    {"method": "theirs", "metric": "full", "loss": 2.0, "gain": None},
]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_prints_what_its_files_have(page):
    assert list(faults(page)) == []


@pytest.mark.parametrize("path", sorted(PAPER.glob("*.json")), ids=lambda path: path.stem)
def test_a_file_says_where_it_comes_from(path):
    assert list(faults_of_file(path)) == []


class TestAFile:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ([], "does not say where"),
            ({"rows": []}, "does not say where"),
            ({"origin": {**ORIGIN, "machine": ""}, "rows": []}, "has to name"),
            ({"origin": {"commits": ["abc"]}, "rows": []}, "has to name"),
        ],
    )
    def test_without_an_origin_is_found(self, tmp_path, content, message):
        path = tmp_path / "some.json"
        path.write_text(json.dumps(content))
        assert message in "".join(faults_of_file(path))

    @pytest.mark.parametrize("commit", ["unknown", "abc with changes"])
    def test_of_no_commit_is_found(self, tmp_path, commit):
        store("some", {**ORIGIN, "commits": ["abc", commit]}, ROWS, tmp_path)
        assert "is not of commits alone" in "".join(faults_of_file(tmp_path / "some.json"))


class TestAnOrigin:
    def test_has_command_commits_date_and_machine(self):
        found = origin()
        assert set(found) == set(ORIGIN)
        assert all(found.values())

    def test_keeps_the_commits_of_what_is_passed_on(self):
        assert {"abc", "unknown"} <= set(origin(["abc", "unknown"])["commits"])

    def test_finds_the_commits_of_all_parts_of_a_file(self):
        kept = {"held out": {"iris": "abc", "wine": ["def", "abc"]}, "same rows": {}}
        assert commits_in(kept) == {"abc", "def"}

    def test_has_the_commits_of_pieces_from_an_earlier_run(self, tmp_path, monkeypatch):
        path = tmp_path / "long.json"
        path.write_text(json.dumps({"pieces": {"a": 1}, "commits": {"a": "of-before"}}))
        monkeypatch.setattr("_cache.CACHE", tmp_path)
        pieces = Pieces("long", 10.0)
        assert pieces.get("a", lambda: 2) == 1
        assert "of-before" in origin()["commits"]
        kept_from.clear()
