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

    def test_with_a_table_of_its_own_is_found(self, folder):
        page = self.page(folder, "| a | b |\n|---|---|\n| x | 0.1 |\n")
        assert "no file has the row | x | 0.1 |" in "".join(faults(page, folder))

    def test_may_tie_a_table_of_its_own(self, folder):
        table = "| a `0.5` | b |\n|---|---|\n| x | **1.23** |\n| y | [0.30](a1.2.md) |\n"
        tie = "<!-- numbers\n1.23: some; ours; loss\n0.30: some; ours; gain\n-->\n"
        assert list(faults(self.page(folder, table + tie), folder)) == []
        lower = f"{table.replace('1.23', '1.24')}{tie}"
        assert "no file has the row | x | **1.24** |" in "".join(
            faults(self.page(folder, lower), folder)
        )
        elsewhere = f"{table}\n1.23, 0.30\n{tie}"
        assert "no file has the row" in "".join(faults(self.page(folder, elsewhere), folder))

    def test_is_written_although_one_of_its_files_is_not_there_yet(self, folder):
        later = "<!-- begin later -->\n<!-- end later -->\n"
        page = self.page(folder, f"{later}<!-- begin some -->\n<!-- end some -->\n")
        write_again(page, folder)
        assert page.read_text().startswith(later)
        assert "| theirs | full | 2.00 | - |" in page.read_text()

    def test_may_speak_of_its_tables_and_of_settings(self, folder):
        table = f"<!-- begin some -->\n{block('some', folder)}<!-- end some -->\n"
        text = "Of 1.23, with `lam=0.3` on Python 3.11.\n\nTo 0.7.\n<!-- numbers\ngiven: 0.7\n-->"
        assert list(faults(self.page(folder, f"{table}\n{text}"), folder)) == []

    @pytest.mark.parametrize("text", ["It is 1.24.", "## Other\n\nIt is 1.23."])
    def test_whose_text_has_a_number_of_no_table_is_found(self, folder, text):
        table = f"<!-- begin some -->\n{block('some', folder)}<!-- end some -->\n"
        page = self.page(folder, f"{table}\n{text}\n")
        assert "is tied to nothing" in "".join(faults(page, folder))

    def test_whose_file_is_missing_is_found(self, folder):
        page = self.page(folder, "<!-- begin other -->\n<!-- end other -->\n")
        assert "there is no docs/paper/other.json" in "".join(faults(page, folder))

    @pytest.mark.parametrize(
        ("printed", "mark"),
        [
            ("1.23", "some; ours; loss"),
            ("1.2", "some; ours; full; loss"),
            ("2", "some; theirs; loss"),
            ("0.10", "some; ours; gain"),
            ("-0.10", "some; ours; gain"),
            ("0.30 ± 0.51", "some; ours; gain"),
            ("0.10 to 0.51", "some; ours; gain"),
            ("0.30 / 0.51", "some; ours; gain"),
        ],
    )
    def test_may_print_what_a_cell_has(self, folder, printed, mark):
        assert (
            list(faults(self.page(folder, tied(f"It is {printed}.", printed, mark)), folder)) == []
        )

    def test_may_have_remarks(self, folder):
        assert list(faults(self.page(folder, "30 <!-- a remark -->"), folder)) == []

    def test_may_break_a_line_within_numbers(self, folder):
        text = tied("- It is 0.30\n  ± 0.51.", "0.30 ± 0.51", "some; ours; gain")
        assert list(faults(self.page(folder, text), folder)) == []

    @pytest.mark.parametrize(
        ("printed", "mark", "message"),
        [
            ("1.24", "some; ours; loss", "1.24 is printed where"),
            ("+0.10", "some; ours; gain", "+0.10 is printed where"),
            ("0.30 ± 0.50", "some; ours; gain", "0.30 ± 0.50 is printed where"),
            ("1.23", "some; nobody; loss", "has no cell"),
            ("1.23", "some; ours; sum", "has no cell"),
            ("1.23", "other; ours; loss", "has no cell"),
            ("about", "some; ours; loss", "no number in front of"),
        ],
    )
    def test_with_another_number_in_the_text_is_found(self, folder, printed, mark, message):
        page = self.page(folder, tied(f"It is {printed}.", printed, mark))
        assert message in "".join(faults(page, folder))

    @pytest.mark.parametrize(
        "text", ["It is 1.2.", "It is 11.23.", "It is 1.234.", "1.23\n\nThis."]
    )
    def test_whose_text_does_not_print_the_number_is_found(self, folder, text):
        page = self.page(folder, tied(text, "1.23", "some; ours; loss"))
        assert "the paragraph above does not print 1.23" in "".join(faults(page, folder))

    def test_with_a_mark_in_the_text_is_found(self, folder):
        page = self.page(folder, "1.24<!-- some; ours; loss -->")
        assert "is no comment below" in "".join(faults(page, folder))


def tied(text, printed, mark):
    before = "Before 1.23.\n<!-- numbers\ngiven: 1.23\n-->"
    return f"{before}\n\n{text}\n<!-- numbers\n{printed}: {mark}\n-->\n"


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
