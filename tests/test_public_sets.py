"""Public sets: the way they are downloaded, converted and kept, and what is in them."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rdata
from local_server import serving

from structsvm import datasets
from structsvm.datasets import conversions, public
from structsvm.datasets.fetch import HAR_SPSW, SKAB
from structsvm.errors import DownloadError, SettingsError
from structsvm.io import read_recording

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

import _sets
from _sets.annotated import TCPD
from _sets.fetch import BEEDANCE, MOCAP6, SETS
from _sets.images import WEIZMANN_HORSE
from _sets.neuroblastoma import NEUROBLASTOMA
from _sets.tables import IONOSPHERE, LETTER, MOVEMENT_LIBRAS

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

    @pytest.mark.parametrize(
        ("name", "options", "n", "shape"),
        [
            ("har_spsw", {"subjects": range(1, 16)}, 145, (131, 32)),
            ("skab", {"folders": ("other", "valve1")}, 30, (745, 8)),
            ("mocap6", {}, 6, (382, 24)),
            ("beedance", {}, 6, (1057, 13)),
            ("hasc1", {}, 1, (1969, 6)),
            ("tep", {}, 21, (960, 52)),
            ("tssb", {}, 75, (1408, 1)),
        ],
    )
    def test_read(self, shared_data, name, options, n, shape):
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
        with pytest.MonkeyPatch.context() as patch, serving(upstream) as server:
            patch.setenv(public.MIRROR_VARIABLE, server.url)
            for fetch in (_sets.fetch_mocap6, _sets.fetch_beedance):
                for recording in fetch(data_home=home):
                    folder = fetch.__name__.removeprefix("fetch_")
                    shared = shared_data / folder / f"{recording.name}.npz"
                    assert_same(recording, read_recording(shared))
            assert len(server.requested) == 1 + 6

    def test_a_second_time_nothing_is_asked_for(self, upstream, tmp_path, monkeypatch):
        home = tmp_path / "home"
        with serving(upstream) as server:
            monkeypatch.setenv(public.MIRROR_VARIABLE, server.url)
            first = _sets.fetch_mocap6(data_home=home)
        monkeypatch.setenv(public.MIRROR_VARIABLE, NOBODY)
        for recording, again in zip(first, _sets.fetch_mocap6(data_home=home), strict=True):
            assert_same(again, recording)
        shutil.rmtree(home / "mocap6" / "raw")  # the recordings are enough
        assert len(_sets.fetch_mocap6(data_home=home)) == 6
        (home / "mocap6" / "s13_30.npz").unlink()
        with pytest.raises(DownloadError):
            _sets.fetch_mocap6(data_home=home)

    def test_series_of_several_annotators(self, upstream, tmp_path, monkeypatch):
        with serving(upstream) as server:
            monkeypatch.setenv(public.MIRROR_VARIABLE, server.url)
            found = _sets.fetch_tcpd(data_home=tmp_path)
            assert len(found) == 32
            (run_log,) = _sets.fetch_tcpd(["run_log"], data_home=tmp_path)
        assert run_log.recording.X.shape == (376, 2)
        assert len(run_log.breakpoints) == 5
        assert all(
            ends[-1] == 376 and ends == sorted(ends) for ends in run_log.breakpoints.values()
        )
        assert sum(np.isnan(one.recording.X).sum() for one in found) == 2  # uk_coal_employ

    def test_offline(self, tmp_path):
        with pytest.raises(DownloadError) as caught:
            _sets.fetch_mocap6(data_home=tmp_path)
        message = str(caught.value)
        assert f"mocap6: cannot download {NOBODY}/michaelchughes/mocap6dataset/" in message
        assert "refused" in message
        assert f"put the file at {tmp_path / 'mocap6' / 'raw' / 'mocap6.mat'} by hand" in message
        assert MOCAP6.checksums["mocap6.mat"] in message
        assert MOCAP6.archive in message
        assert files_in(tmp_path) == []

    def test_a_file_put_there_by_hand(self, upstream, tmp_path):
        raw = MOCAP6.folder(tmp_path) / "raw"
        raw.mkdir(parents=True)
        shutil.copy2(upstream / MOCAP6.repository / MOCAP6.commit / "mocap6.mat", raw)
        assert len(_sets.fetch_mocap6(data_home=tmp_path)) == 6

    def test_a_wrong_file_put_there_by_hand(self, tmp_path):
        raw = MOCAP6.folder(tmp_path) / "raw"
        raw.mkdir(parents=True)
        (raw / "mocap6.mat").write_bytes(b"something else")
        with pytest.raises(DownloadError, match="what lies there has another content"):
            _sets.fetch_mocap6(data_home=tmp_path)

    def test_another_content_than_expected(self, upstream, tmp_path, monkeypatch):
        (upstream / MOCAP6.repository / MOCAP6.commit / "mocap6.mat").write_bytes(b"changed")
        with serving(upstream) as server:
            monkeypatch.setenv(public.MIRROR_VARIABLE, server.url)
            with pytest.raises(
                DownloadError, match="is not the one this version of structsvm knows"
            ):
                _sets.fetch_mocap6(data_home=tmp_path / "home")
        assert files_in(tmp_path / "home") == []

    def test_a_server_that_breaks_off(self, upstream, tmp_path, monkeypatch):
        with serving(upstream, breaks_off=True) as server:
            monkeypatch.setenv(public.MIRROR_VARIABLE, server.url)
            with pytest.raises(DownloadError, match="cannot download"):
                _sets.fetch_mocap6(data_home=tmp_path / "home")
        assert files_in(tmp_path / "home") == []

    def test_a_missing_file(self, tmp_path, monkeypatch):
        with serving(tmp_path) as server:
            monkeypatch.setenv(public.MIRROR_VARIABLE, server.url)
            with pytest.raises(DownloadError, match="404"):
                _sets.fetch_beedance(data_home=tmp_path / "home")

    def test_the_console_stays_empty(self, upstream, tmp_path, monkeypatch, capfd):
        with serving(upstream) as server:
            monkeypatch.setenv(public.MIRROR_VARIABLE, server.url)
            _sets.fetch_mocap6(data_home=tmp_path / "home")
        assert capfd.readouterr() == ("", "")


class TestConversions:
    """From the form in which a set is published, written here, to the shared recording."""

    def test_activities(self, tmp_path, shared_data):
        source = shared_data / "har_spsw" / "s03_02.npz"
        with np.load(source) as arrays:
            raw, codes = arrays["Xraw"], arrays["yraw"]
        for device, channels in (("sp", raw[:, :6]), ("sw", raw[:, 6:])):
            rows = [",".join([*conversions.AXES, "timestamp", "label"])]
            rows += [
                ",".join([*map(repr, map(float, row)), str(20 * i), conversions.ACTIVITIES[code]])
                for i, (row, code) in enumerate(zip(channels, codes, strict=True))
            ]
            last = f"{rows[-1].rsplit(',', 2)[0]},{20 * len(raw)},SEATED"  # the grid ends before it
            (tmp_path / f"s03_02_{device}.csv").write_text("\n".join([*rows, last]))
        recording = conversions.activity("s03_02", lambda path: tmp_path / Path(path).name)
        shared = read_recording(source)
        assert recording.features == shared.features
        np.testing.assert_allclose(recording.X, shared.X, atol=1e-5)  # from single precision
        np.testing.assert_array_equal(recording.y, shared.y)

    def test_water_loop(self, tmp_path, shared_data):
        shared = read_recording(shared_data / "skab" / "valve1_03.npz")
        names = ["datetime", *shared.features, "anomaly", "changepoint"]
        marks = np.diff(shared.y, prepend=0)
        rows = [
            ";".join(["now", *(repr(float(x)) for x in row), "0.0", f"{float(mark)}"])
            for row, mark in zip(shared.X, marks, strict=True)
        ]
        (tmp_path / "3.csv").write_text("\n".join([";".join(names), *rows]))
        asked = []
        recording = conversions.water_loop(
            "valve1_03", lambda path: asked.append(path) or tmp_path / "3.csv"
        )
        assert asked == ["data/valve1/3.csv"]
        assert_same(recording, shared)

    def test_faults(self, tmp_path, shared_data):
        shared = read_recording(shared_data / "tep" / "fault07.npz")
        np.savetxt(tmp_path / "d07_te.dat", shared.X)
        assert_same(
            _sets.conversions.fault("fault07", lambda path: tmp_path / Path(path).name), shared
        )

    def test_series(self, tmp_path, shared_data):
        shared = read_recording(shared_data / "tssb" / "Adiac.npz")
        np.savetxt(tmp_path / "Adiac.txt", shared.X)
        (tmp_path / "desc.txt").write_text("Adiac2,9,1\nAdiac,10,572,1012,1232\n")
        assert_same(
            _sets.conversions.series("Adiac", lambda path: tmp_path / Path(path).name), shared
        )

    def test_accelerometer(self, tmp_path, shared_data):
        from scipy.io import savemat

        source = shared_data / "hasc1" / "hasc1.npz"
        with np.load(source) as arrays:
            changes = np.zeros((len(arrays["Xraw"]), 1))
            changes[arrays["bkps_raw"][:-1]] = 1
            savemat(tmp_path / "hasc-1.mat", {"Y": arrays["Xraw"].astype(float), "L": changes})
        recording = _sets.conversions.hasc("hasc1", lambda path: tmp_path / Path(path).name)
        np.testing.assert_allclose(recording.X, read_recording(source).X, atol=1e-5)
        np.testing.assert_array_equal(recording.y, read_recording(source).y)


class TestImages:
    def test_the_shared_images(self, tmp_path, shared_data, monkeypatch):
        from PIL import Image

        paths = {f"weizmann_horse_db/{kind}_train/horse007.png": "" for kind in ("horse", "mask")}
        monkeypatch.setitem(vars(WEIZMANN_HORSE), "checksums", paths)
        fetch = {"horse": shared_data / "weizmann_horse" / "img", "mask": None}
        fetch["mask"] = shared_data / "weizmann_horse" / "mask"

        def fetched(public_set, path, data_home):
            return fetch[path.split("/")[1].split("_")[0]] / "horse007.png"

        monkeypatch.setattr(type(WEIZMANN_HORSE), "fetch", fetched)
        (image,) = _sets.fetch_weizmann_horse([7])
        np.testing.assert_array_equal(
            image.rgb, np.asarray(Image.open(fetch["horse"] / "horse007.png"))
        )
        mask = np.asarray(Image.open(fetch["mask"] / "horse007.png"))
        np.testing.assert_array_equal(image.foreground, mask > 0)

        (small,) = _sets.fetch_weizmann_horse([7], longest_side=40)
        assert max(small.rgb.shape) == 40
        assert small.foreground.shape == small.rgb.shape[:2]
        assert small.foreground.mean() == pytest.approx(image.foreground.mean(), abs=0.03)
        with pytest.raises(SettingsError, match=r"numbers must be in 1..327, got 400"):
            _sets.fetch_weizmann_horse([400])


class TestTables:
    def shared(self, shared_data, name):
        return read_recording(shared_data / "tables" / f"{name}.csv", label_column="class")

    def test_balance_scale(self, shared_data):
        assert_same(_sets.balance_scale(), self.shared(shared_data, "balance_scale"))

    def test_movement_libras(self, tmp_path, shared_data, monkeypatch):
        """The upstream file has one line too many, a row with words in it, before the rows."""
        shared = self.shared(shared_data, "movement_libras")
        rows = [
            [*map(repr, map(float, x)), str(y)] for x, y in zip(shared.X, shared.y, strict=True)
        ]
        lines = [["FIRST", "SECOND", "THIRD", *rows[0][3:]], *rows]
        (tmp_path / "libras").write_text("\n".join(",".join(line) for line in lines))
        monkeypatch.setattr(type(MOVEMENT_LIBRAS), "fetch", lambda *_: tmp_path / "libras")
        assert_same(_sets.fetch_movement_libras(), shared)

    @pytest.mark.parametrize(
        ("name", "file", "label"),
        [
            ("letter", "LetterRecognition.rda", "lettr"),
            ("ionosphere", "Ionosphere.rda", "Class"),
        ],
    )
    def test_tables_of_r(self, name, file, label, tmp_path, shared_data, monkeypatch):
        """Upstream the labels are a factor; in ionosphere so are two features of zeros and ones."""
        shared = self.shared(shared_data, name)
        frame = pd.DataFrame(shared.X, columns=list(shared.features))
        factors = ["V1", "V2"] if name == "ionosphere" else []
        for column in factors:
            frame[column] = pd.Categorical(frame[column].astype(int).astype(str))
        frame[label] = pd.Categorical(shared.y)
        rdata.write_rda(tmp_path / file, {file.split(".")[0]: frame})
        monkeypatch.setattr(type(LETTER), "fetch", lambda _, path, __: tmp_path / Path(path).name)
        assert_same(_fetch(name)(), shared)


def test_annotated_profiles(upstream, tmp_path, shared_data, monkeypatch):
    """The R file of the sample says what the tables written from it say."""
    folder = shared_data / "neuroblastoma"
    known = _sets.read_profiles(folder / "intreg_signals.csv", folder / "intreg_annotations.csv")
    with serving(upstream) as server:
        monkeypatch.setenv(public.MIRROR_VARIABLE, server.url)
        found = _sets.fetch_neuroblastoma(data_home=tmp_path)
    assert sum(len(profile.regions) for profile in found) == 8
    by_name = {profile.recording.name: profile for profile in known}
    for profile in found:
        other = by_name.pop(profile.recording.name)
        np.testing.assert_allclose(profile.recording.X, other.recording.X, atol=1e-12)
        np.testing.assert_array_equal(profile.positions, other.positions)
        assert (profile.profile, profile.regions) == (other.profile, other.regions)
    assert not by_name


@every
def test_every_file_has_a_checksum(public_set):
    assert public_set.checksums
    for path, digest in public_set.checksums.items():
        assert len(bytes.fromhex(digest)) == 32, path
    assert len(bytes.fromhex(public_set.commit)) == 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.fetch_har_spsw([24]), r"subjects must be among s01, .*; got \['s24'\]"),
        (lambda: datasets.fetch_har_spsw([]), "subjects must be among .*; got none"),
        (lambda: datasets.fetch_skab(["valve3"]), r"folders must be among other, valve1, valve2"),
        (lambda: _sets.fetch_tep([0]), r"faults must be among fault01, .*; got \['fault00'\]"),
        (lambda: _sets.fetch_tssb(["nothing"]), r"names must be among Adiac, "),
        (lambda: _sets.fetch_tcpd(["nothing"]), r"names must be among bank, "),
    ],
)
def test_what_is_not_in_a_set(call, message):
    with pytest.raises(SettingsError, match=message):
        call()


def test_a_set_of_many_files_has_a_name_for_each_recording():
    assert len({Path(path).name[:6] for path in HAR_SPSW.checksums}) == 223


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def _fetch(name):
    return getattr(datasets, f"fetch_{name}", None) or getattr(_sets, f"fetch_{name}")
