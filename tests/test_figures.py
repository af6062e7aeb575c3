"""Printed numbers are those of the files of docs/paper, which say where they come from."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

from _figures import PAPER, faults, faults_of_file, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_prints_what_its_files_have(page):
    assert list(faults(page)) == []


@pytest.mark.parametrize("path", sorted(PAPER.glob("*.json")), ids=lambda path: path.stem)
def test_a_file_says_where_it_comes_from(path):
    assert list(faults_of_file(path)) == []
