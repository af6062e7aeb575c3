"""Public sets: the way they are downloaded, converted and kept, and what is in them."""

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from cases import cases, refused

from structsvm import datasets
from structsvm.datasets import public
from structsvm.datasets.public import HAR_SPSW, SKAB
from structsvm.errors import DataError, DownloadError, SettingsError
from structsvm.io import read_recording
from structsvm.partitions.constraint import Region
from structsvm.partitions.equivalence import EquivalenceMatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments import sets
from experiments.sets import annotation_errors, read_profiles
from experiments.sets.annotated import TCPD
from experiments.sets.fetch import BEEDANCE, MOCAP6, SETS
from experiments.sets.images import WEIZMANN_HORSE
from experiments.sets.neuroblastoma import NEUROBLASTOMA
from experiments.sets.tables import IONOSPHERE, LETTER, MOVEMENT_LIBRAS


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder; yield the address, and a list of what is asked for."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


NOBODY = "http://127.0.0.1:9"
EVERY = (
    HAR_SPSW,
    SKAB,
    *SETS,
    TCPD,
    WEIZMANN_HORSE,
    MOVEMENT_LIBRAS,
    LETTER,
    IONOSPHERE,
    NEUROBLASTOMA,
)
every = pytest.mark.parametrize("public_set", EVERY, ids=[one.name for one in EVERY])


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test asks the network."""
    monkeypatch.setenv(public.MIRROR_VARIABLE, NOBODY)
    monkeypatch.delenv(public.DATA_VARIABLE, raising=False)


@pytest.fixture
def upstream(tmp_path, shared_data):
    """Those files of the repositories that are here as their authors publish them."""
    root = tmp_path / "upstream"
    here = {
        MOCAP6: {"mocap6.mat": "mocap6/mocap6.mat"},
        NEUROBLASTOMA: {"data/intreg.RData": "neuroblastoma/intreg.RData"},
        BEEDANCE: {},
        TCPD: {},
    }
    for path in BEEDANCE.checksums:
        here[BEEDANCE][path] = f"beedance/original/{Path(path).name}"
    for path in TCPD.checksums:
        here[TCPD][path] = f"tcpd/{Path(path).name}"
    for public_set, paths in here.items():
        for path, shared in paths.items():
            target = root / public_set.repository / public_set.commit / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(shared_data / shared, target)
    return root


def assert_same(recording, expected):
    assert recording.features == expected.features
    np.testing.assert_array_equal(recording.X, expected.X)
    np.testing.assert_array_equal(recording.y, expected.y)


class TestShared:
    """The recordings beside the checkout are the same sets, converted: they are read as a cache."""

    @cases(
        ("har_spsw", {"subjects": range(1, 16)}, 145, (131, 32)),
        ("skab", {"folders": ("other", "valve1")}, 30, (745, 8)),
        ("mocap6", {}, 6, (382, 24)),
        ("beedance", {}, 6, (1057, 13)),
        ("hasc1", {}, 1, (1969, 6)),
        ("tep", {}, 21, (960, 52)),
        ("tssb", {}, 75, (1408, 1)),
    )
    def test_shared_sets_are_read_from_their_folder(self, shared_data, name, options, n, shape):
        fetch = _fetch(name)
        recordings = fetch(**options, data_home=shared_data)
        assert len(recordings) == n == len(list((shared_data / name).glob("*.npz")))
        assert recordings[0].X.shape == shape
        assert all(recording.y is not None for recording in recordings)

    def test_the_folder_may_come_from_the_environment(self, shared_data, monkeypatch):
        monkeypatch.setenv(public.DATA_VARIABLE, str(shared_data))
        assert datasets.fetch_har_spsw([2])[0].name == "s02_01"


class TestDownload:
    def test_original_files_become_the_shared_recordings(self, upstream, tmp_path, shared_data):
        home = tmp_path / "home"
        with pytest.MonkeyPatch.context() as patch, serving(upstream) as (url, asked):
            patch.setenv(public.MIRROR_VARIABLE, url)
            for fetch in (sets.fetch_mocap6, sets.fetch_beedance):
                for recording in fetch(data_home=home):
                    folder = fetch.__name__.removeprefix("fetch_")
                    shared = shared_data / folder / f"{recording.name}.npz"
                    assert_same(recording, read_recording(shared))
            assert len(asked) == 1 + 6

    def test_a_downloaded_set_is_not_downloaded_again(self, upstream, tmp_path, monkeypatch):
        home = tmp_path / "home"
        with serving(upstream) as (url, _):
            monkeypatch.setenv(public.MIRROR_VARIABLE, url)
            first = sets.fetch_mocap6(data_home=home)
        monkeypatch.setenv(public.MIRROR_VARIABLE, NOBODY)
        for recording, again in zip(first, sets.fetch_mocap6(data_home=home), strict=True):
            assert_same(again, recording)
        shutil.rmtree(home / "mocap6" / "raw")  # the recordings are enough
        assert len(sets.fetch_mocap6(data_home=home)) == 6
        (home / "mocap6" / "s13_30.npz").unlink()
        with pytest.raises(DownloadError):
            sets.fetch_mocap6(data_home=home)

    def test_a_set_that_cannot_be_downloaded_is_named(self, tmp_path):
        with pytest.raises(DownloadError) as caught:
            sets.fetch_mocap6(data_home=tmp_path)
        message = str(caught.value)
        assert f"mocap6: cannot download {NOBODY}/michaelchughes/mocap6dataset/" in message
        assert "refused" in message
        assert f"put the file at {tmp_path / 'mocap6' / 'raw' / 'mocap6.mat'} by hand" in message
        assert MOCAP6.checksums["mocap6.mat"] in message
        assert f"{MOCAP6.repository}/archive/{MOCAP6.commit}.zip" in message
        assert files_in(tmp_path) == []

    def test_a_download_with_another_checksum_is_refused(self, upstream, tmp_path, monkeypatch):
        (upstream / MOCAP6.repository / MOCAP6.commit / "mocap6.mat").write_bytes(b"changed")
        with serving(upstream) as (url, _):
            monkeypatch.setenv(public.MIRROR_VARIABLE, url)
            with pytest.raises(
                DownloadError, match="is not the one this version of structsvm knows"
            ):
                sets.fetch_mocap6(data_home=tmp_path / "home")
        assert files_in(tmp_path / "home") == []


class TestConversions:
    """From the form in which a set is published, written here, to the shared recording."""

    def test_har_spsw_is_converted_to_its_shared_files(self, tmp_path, shared_data):
        source = shared_data / "har_spsw" / "s03_02.npz"
        with np.load(source) as arrays:
            raw = arrays["Xraw"]
            codes = arrays["yraw"]
        for device, channels in (("sp", raw[:, :6]), ("sw", raw[:, 6:])):
            rows = [",".join([*public.AXES, "timestamp", "label"])]
            rows += [
                ",".join([*map(repr, map(float, row)), str(20 * i), public.ACTIVITIES[code]])
                for i, (row, code) in enumerate(zip(channels, codes, strict=True))
            ]
            last = f"{rows[-1].rsplit(',', 2)[0]},{20 * len(raw)},SEATED"  # the grid ends before it
            (tmp_path / f"s03_02_{device}.csv").write_text("\n".join([*rows, last]))
        recording = public.activity("s03_02", lambda path: tmp_path / Path(path).name)
        shared = read_recording(source)
        assert recording.features == shared.features
        np.testing.assert_allclose(recording.X, shared.X, atol=1e-5)  # from single precision
        np.testing.assert_array_equal(recording.y, shared.y)

    def test_skab_is_converted_to_its_shared_files(self, tmp_path, shared_data):
        shared = read_recording(shared_data / "skab" / "valve1_03.npz")
        names = ["datetime", *shared.features, "anomaly", "changepoint"]
        marks = np.diff(shared.y, prepend=0)
        rows = [
            ";".join(["now", *(repr(float(x)) for x in row), "0.0", f"{float(mark)}"])
            for row, mark in zip(shared.X, marks, strict=True)
        ]
        (tmp_path / "3.csv").write_text("\n".join([";".join(names), *rows]))
        asked = []
        recording = public.water_loop(
            "valve1_03", lambda path: asked.append(path) or tmp_path / "3.csv"
        )
        assert asked == ["data/valve1/3.csv"]
        assert_same(recording, shared)


@every
def test_every_file_has_a_checksum(public_set):
    assert public_set.checksums
    for path, digest in public_set.checksums.items():
        assert len(bytes.fromhex(digest)) == 32, path
    assert len(bytes.fromhex(public_set.commit)) == 20


test_parts_that_a_public_set_does_not_have_are_refused = refused(
    SettingsError,
    lambda call: call(),
    (lambda: datasets.fetch_har_spsw([24]), r"subjects must be one of \['s01', .*, got 's24'"),
    (lambda: datasets.fetch_skab(["valve3"]), r"folders must be one of \['other', "),
    (lambda: sets.fetch_tep([0]), r"faults must be one of \['fault01', .*, got 'fault00'"),
    (lambda: sets.fetch_tssb(["nothing"]), r"names must be one of \['Adiac', "),
    (lambda: sets.fetch_tcpd(["nothing"]), r"names must be among bank, "),
)


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def _fetch(name):
    return getattr(datasets, f"fetch_{name}", None) or getattr(sets, f"fetch_{name}")


# ---- annotated copy-number profiles: both spellings of the tables, regions, bad tables, the sample


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


@cases(
    ({"annotations": ANNOTATIONS.replace("normal", "dull")}, "annotation 'dull'"),
    ({"annotations": ANNOTATIONS.replace("8,X,360", "7,X,360")}, "annotations of '7.X'"),
    ({"annotations": ANNOTATIONS.replace("120,240", "160,240")}, "no room for a change"),
    ({"profiles": PROFILES.replace("0.3", "nan")}, "not finite"),
    ({"profiles": PROFILES.replace("profile.id", "who")}, "neither 'signal' nor 'profile.id'"),
)
def test_bad_tables_of_profiles_are_refused(tmp_path, change, message) -> None:
    with pytest.raises(DataError, match=message):
        read_profiles(*tables(tmp_path, **change))
    with pytest.raises(DataError, match="cannot be read"):
        read_profiles(tmp_path / "none.csv", tmp_path / "a.csv")


def test_the_shared_profiles_of_neuroblastoma_are_read(shared_data) -> None:
    folder = shared_data / "neuroblastoma"
    found = read_profiles(folder / "intreg_signals.csv", folder / "intreg_annotations.csv")
    assert len(found) == 7
    assert sum(len(p.regions) for p in found) == 8
    assert {p.profile for p in found} == {"1", "4", "10", "11"}
    one = [EquivalenceMatrix.from_breakpoints([p.positions.size]) for p in found]
    assert annotation_errors(found, one) == (4, 8)
