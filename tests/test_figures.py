"""Printed numbers are those of the files of docs/paper, which say where they come from."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "experiments"))

from _cache import Pieces  # noqa: E402
from _figures import PAPER, block, faults, faults_of_file, pages, store, write_again  # noqa: E402
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


class TestAPage:
    @pytest.fixture
    def folder(self, tmp_path):
        store("some", ORIGIN, ROWS, tmp_path)
        return tmp_path

    def page(self, folder, text):
        path = folder / "results.md"
        path.write_text(text, encoding="utf-8")
        return path

    def test_is_written_from_its_file(self, folder):
        page = self.page(folder, "a\n<!-- begin some -->\nold\n<!-- end some -->\nb\n")
        write_again(page, folder)
        assert "| theirs | full | 2.00 | - |" in page.read_text()
        assert "*Commit abc; 2026-01-01.*" in page.read_text()
        assert list(faults(page, folder)) == []

    def test_with_another_number_in_a_table_is_found(self, folder):
        content = f"<!-- begin some -->\n{block('some', folder)}<!-- end some -->\n"
        page = self.page(folder, content.replace("1.23", "1.22"))
        assert "the table some is not that of" in "".join(faults(page, folder))

    def test_is_written_although_one_of_its_files_is_not_there_yet(self, folder):
        later = "<!-- begin later -->\n<!-- end later -->\n"
        page = self.page(folder, f"{later}<!-- begin some -->\n<!-- end some -->\n")
        write_again(page, folder)
        assert page.read_text().startswith(later)
        assert "| theirs | full | 2.00 | - |" in page.read_text()

    @pytest.mark.parametrize(
        "text",
        [
            "Of 1.23 or 1.2, by 0.30 (0.10 to 0.51), with `lam=0.3` on Python 3.11.",
            "| a `0.5` | b |\n|---|---|\n| x | **1.23** |",
            "They [have](https://one.org) 1.77.",
            "30 <!-- a remark -->",
        ],
    )
    def test_may_speak_of_its_tables_of_settings_and_of_other_sites(self, folder, text):
        table = f"<!-- begin some -->\n{block('some', folder)}<!-- end some -->\n"
        assert list(faults(self.page(folder, f"{table}\n{text}\n"), folder)) == []

    @pytest.mark.parametrize(
        "text",
        [
            "It is 1.24.",
            "It is 11.23.",
            "It is 1.234.",
            "| a | b |\n|---|---|\n| x | 1.24 |",
            "## Other\n\nIt is 1.23.",
            "They [have](https://one.org) 1.77.\n\nIt is 1.77.",
        ],
    )
    def test_with_a_number_of_no_table_is_found(self, folder, text):
        table = f"<!-- begin some -->\n{block('some', folder)}<!-- end some -->\n"
        page = self.page(folder, f"{table}\n{text}\n")
        assert "is in no table of its section" in "".join(faults(page, folder))

    def test_may_link_to_the_section_that_has_the_table(self, folder):
        table = f"<!-- begin some -->\n{block('some', folder)}<!-- end some -->\n"
        (folder / "peers.md").write_text(f"## Other\n\n## Some, *new* ones\n\n{table}", "utf-8")
        text = "It is [1.23](peers.md#{}).\n"
        assert list(faults(self.page(folder, text.format("some-new-ones")), folder)) == []
        assert list(faults(self.page(folder, text.format("other")), folder))

    def test_whose_file_is_missing_is_found(self, folder):
        page = self.page(folder, "<!-- begin other -->\n<!-- end other -->\n")
        assert "there is no docs/paper/other.json" in "".join(faults(page, folder))


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
