"""Annotated copy-number profiles: both spellings of the tables, regions, bad tables, the sample."""

import sys
from pathlib import Path

import numpy as np
import pytest

from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Region

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

from _sets import annotation_errors, read_profiles

PROFILES = """profile.id,chromosome,position,logratio
8,X,500,0.5
8,X,100,0.1
8,X,200,0.2
8,X,300,0.3
8,X,400,0.4
9,1,100,0.0
"""
ANNOTATIONS = """profile.id,chromosome,min,max,annotation
8,X,150,350,breakpoint
8,X,360,900,normal
8,X,120,240,1breakpoint
"""


def tables(tmp_path, profiles=PROFILES, annotations=ANNOTATIONS):
    (tmp_path / "p.csv").write_text(profiles)
    (tmp_path / "a.csv").write_text(annotations)
    return tmp_path / "p.csv", tmp_path / "a.csv"


def test_a_change_lies_in_a_region_if_its_middle_does(tmp_path) -> None:
    """Middles of the gaps: 150, 250, 350, 450."""
    (profile,) = read_profiles(*tables(tmp_path))
    np.testing.assert_allclose(profile.recording.X[:, 0], [0.1, 0.2, 0.3, 0.4, 0.5])
    assert profile.profile == "8"
    assert profile.regions == (Region(0, 4, 1, or_more=True), Region(3, 5, 0), Region(0, 2, 1))
    assert profile.labels.constraint(5, contiguous=True).regions == profile.regions
    guess = EquivalenceMatrix.from_breakpoints([2, 5])
    assert annotation_errors([profile], [guess]) == (1, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotations": ANNOTATIONS.replace("normal", "dull")}, "annotation 'dull'"),
        ({"annotations": ANNOTATIONS.replace("8,X,360", "7,X,360")}, "annotations of '7.X'"),
        ({"annotations": ANNOTATIONS.replace("120,240", "160,240")}, "no room for a change"),
        ({"profiles": PROFILES.replace("0.3", "nan")}, "not finite"),
        ({"profiles": PROFILES.replace("profile.id", "who")}, "neither 'signal' nor 'profile.id'"),
    ],
)
def test_bad_tables_are_refused(tmp_path, change, message) -> None:
    with pytest.raises(DataError, match=message):
        read_profiles(*tables(tmp_path, **change))
    with pytest.raises(DataError, match="cannot be read"):
        read_profiles(tmp_path / "none.csv", tmp_path / "a.csv")


def test_the_shared_sample(shared_data) -> None:
    folder = shared_data / "neuroblastoma"
    found = read_profiles(folder / "intreg_signals.csv", folder / "intreg_annotations.csv")
    assert len(found) == 7
    assert sum(len(p.regions) for p in found) == 8
    assert {p.profile for p in found} == {"1", "4", "10", "11"}
    one = [EquivalenceMatrix.from_breakpoints([p.positions.size]) for p in found]
    assert annotation_errors(found, one) == (4, 8)
