"""Files that cannot be written, are left behind, are larger than they look, or have odd names."""

import io
import os
import resource
import stat
import tempfile
import textwrap
import warnings
import zipfile

import numpy as np
import pytest
from enumerated import listed_risk
from numpy.lib import format as npy
from PIL import Image
from programs import loaded

from structsvm import MetricLearner, load, save
from structsvm.errors import (
    CheckpointWarning,
    DataError,
    ModelFileError,
    StructSVMError,
)
from structsvm.graphs import GraphOfImage, images
from structsvm.graphs.images import from_image
from structsvm.io import read_images, read_recordings
from structsvm.io.label_files import read_regions
from structsvm.parallel import Processes
from structsvm.problem import PSD, SquaredNorm
from structsvm.solvers import checkpoint
from structsvm.solvers.auto import solver_from
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.support.whole_files import write_atomically


def risk():
    return listed_risk(PSD(3), SquaredNorm(0.05), n_samples=12, n_labels=60, seed=6)


PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmHWM:")))
"""
# Of a program of its own, in kilobytes. Its ru_maxrss begins with that of the tests that start it,
# below which nothing that it takes would be seen.


def printed(code, *arguments):
    """What a program prints that has ``peak``."""
    done = loaded(PEAK + textwrap.dedent(code), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestCheckpointsThatCannotBeWritten:
    """A real failure of the file system, to root as well."""

    @pytest.mark.parametrize("name", ["cutting-plane", "one-slack", "frank-wolfe", "subgradient"])
    def test_writing_into_a_folder_that_vanishes_is_tried_again(self, name, tmp_path, monkeypatch):
        monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
        folder = tmp_path / "state"
        away = tmp_path / "away"
        folder.mkdir()
        file = folder / "run.npz"
        method = solver_from(name, Stopping(1e-6, 8))

        def callback(entry):
            if entry.iteration == 0:
                folder.rename(away)
            if entry.iteration == 2:
                folder.mkdir()

        with pytest.warns(CheckpointWarning, match=r"run.npz: cannot be written: No such") as told:
            found = method.solve(risk(), callback, resume=file)
        assert len([w for w in told if w.category is CheckpointWarning]) == 1
        np.testing.assert_array_equal(found.w, method.solve(risk()).w)
        assert file.is_file()


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


class TestCopiesOfRecordings:
    def test_copies_of_recordings_for_workers_are_readable_by_the_owner_alone(self, temporary):
        before = os.umask(0)
        try:
            with Processes(2).open(["some", "recordings"]):
                (folder,) = temporary.iterdir()
                assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        finally:
            os.umask(before)
        assert not list(temporary.iterdir())


def bomb(path, names, n_bytes, chunk=2**24):
    """Write arrays of zeros that expand to so many bytes each; the size of the file."""
    header = io.BytesIO()
    shape = (n_bytes // 80, 10)
    npy.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in names:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(header.getvalue())
                left = shape[0] * 80
                while left:
                    left -= member.write(bytes(min(left, chunk)))
    return path.stat().st_size


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Return a file of 2 MB that expands to 400 MB."""
    path = tmp_path_factory.mktemp("bombs") / "bomb.npz"
    assert bomb(path, ["X"], 4 * 10**8) < 2.5e6
    return path


READERS = {
    "load": "from structsvm import load; load(path)",
    "header": "from pathlib import Path; from structsvm.learner.files import MODEL; "
    "MODEL.read(Path(path))",
    "recordings": "from structsvm.io import read_recordings; read_recordings(path)",
    "resume": """
import numpy as np
from structsvm import MetricLearner
level = 9.0 * (np.arange(20) >= 10)[:, None]
X = [level + np.random.default_rng(i).normal(size=(20, 2)) for i in range(2)]
MetricLearner().fit(X, [[10, 20]] * 2, resume=path)
""",
}


@pytest.fixture(scope="module")
def compiled():
    """Run a fit in a process of its own: numba needs 120 MB to compile it, and then keeps it."""
    printed(READERS["resume"].replace("path", "None"))


class TestArchivesThatExpand:
    @pytest.mark.parametrize("reader", READERS)
    def test_archives_that_expand_too_much_are_refused_before_they_are_read(
        self, reader, big, compiled
    ):
        code = f"""
import sys
from structsvm.errors import StructSVMError
import structsvm.io, structsvm.learner.files
before = peak()
path = sys.argv[1]
try:
    exec({READERS[reader]!r})
except StructSVMError as error:
    print(error)
print(peak() - before)
"""
        told, grown = printed(code, big).splitlines()
        assert "bomb.npz: " in told
        assert "expand to " in told
        assert "give max_bytes" in told
        assert int(grown) < 100_000  # kilobytes

    def test_max_bytes_raises_the_limit_of_archives(self, tmp_path):
        path = tmp_path / "zeros.npz"
        bomb(path, ["X"], 8 * 10**6)
        (recording,) = read_recordings(path, need_labels=False)  # 8 MB are no matter
        assert recording.X.shape == (100_000, 10)
        with pytest.raises(DataError, match="that expand to 8 MB, at most 1 MB are read"):
            read_recordings(path, need_labels=False, max_bytes=10**6)
        with pytest.raises(ModelFileError, match="at most 1 MB are read"):
            load(path, max_bytes=10**6)

    def test_archives_with_lying_headers_are_refused(self, tmp_path):
        """A member that says that it is larger than it is, and one with pickled objects."""
        path = tmp_path / "lie.npz"
        header = io.BytesIO()
        told = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10)}
        npy.write_array_header_1_0(header, told)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", header.getvalue() + bytes(800))
        with pytest.raises(DataError, match=r"X has shape \(1000000000000, 10\), which is more"):
            read_recordings(path, need_labels=False)
        np.savez(path, X=np.array([None, {}], dtype=object))
        with pytest.raises(DataError, match="never loaded"):
            read_recordings(path, need_labels=False)


class TestPhotographs:
    def test_more_pixels_than_the_limit_are_refused_before_they_are_decoded(self, tmp_path):
        """17 kB that took 24 GB."""
        path = tmp_path / "huge.png"
        Image.new("1", (12_000, 12_000)).save(path)
        assert path.stat().st_size < 20_000
        code = """
import sys
from structsvm.io import read_images
from structsvm.errors import DataError
before = peak()
try:
    read_images(sys.argv[1], need_labels=False)
except DataError as error:
    print(error)
print(peak() - before)
"""
        told, grown = printed(code, path).splitlines()
        assert f"{path}: cannot be read as an image: 12000 x 12000 pixels, at most 50" in told
        assert "give max_pixels" in told
        assert int(grown) < 50_000  # kilobytes

    def test_max_pixels_raises_the_limit_of_images(self, tmp_path):
        path = tmp_path / "img" / "small.png"
        (tmp_path / "img").mkdir()
        (tmp_path / "mask").mkdir()
        Image.new("RGB", (40, 30)).save(path)
        np.save(tmp_path / "mask" / "small.npy", np.zeros((40, 50), dtype=np.int64))
        assert read_images(path, need_labels=False, max_pixels=1200)[0].image.shape == (30, 40, 3)
        with pytest.raises(DataError, match=r"small.png: .*: 30 x 40 pixels, at most 1,199"):
            read_images(path, need_labels=False, max_pixels=1199)
        with pytest.raises(
            DataError, match=r"small.npy: .*: 40 x 50 pixels, at most 1,999 are read"
        ):
            read_images(tmp_path, max_pixels=1999)

    def test_label_maps_with_lying_headers_are_refused(self, tmp_path):
        header = io.BytesIO()
        told = {"descr": "<i8", "fortran_order": False, "shape": (5000, 5000)}
        npy.write_array_header_1_0(header, told)
        (tmp_path / "img").mkdir()
        (tmp_path / "mask").mkdir()
        Image.new("RGB", (40, 30)).save(tmp_path / "img" / "a.png")
        (tmp_path / "mask" / "a.npy").write_bytes(header.getvalue() + bytes(80))
        with pytest.raises(DataError, match=r"a.npy: cannot be read as an array: mmap length"):
            read_images(tmp_path)

    def test_large_images_are_cut_as_their_reductions(self, monkeypatch):
        """To the last bit when every block is of one colour; the label map is scaled back."""
        rng = np.random.default_rng(0)
        small = rng.integers(0, 256, (40, 60, 3), dtype=np.uint8)
        large = small.repeat(3, axis=0).repeat(3, axis=1)
        settings = GraphOfImage(n_superpixels=20, compactness=100.0)
        expected = from_image(small, settings)
        assert expected.n_samples > 10
        monkeypatch.setattr(images, "MOST_PIXELS", 40 * 60)
        found = from_image(large, settings)
        np.testing.assert_allclose(found.X, expected.X, atol=1e-9)
        np.testing.assert_array_equal(found.regions[::3, ::3], expected.regions)
        np.testing.assert_array_equal(found.regions[2::3, 1::3], expected.regions)
        np.testing.assert_array_equal(found.sizes, 9 * expected.sizes)
        odd = from_image(large[:-1, :-2], settings)  # blocks at the edges are narrower
        assert odd.regions.shape == (119, 178)
        assert odd.sizes.sum() == 119 * 178


class TestNamesThatAreNotText:
    NAME = os.fsdecode(b"caf\xe9")

    def test_names_of_recordings_can_be_printed(self, tmp_path):
        path = tmp_path / f"{self.NAME}.npz"
        np.savez(path, X=np.eye(4), y=[0, 0, 1, 1])
        for found in (read_recordings(path), read_recordings(tmp_path)):
            assert [recording.name for recording in found] == ["caf\\xe9"]
        (tmp_path / "bad").mkdir()
        bad = tmp_path / "bad" / f"{self.NAME}.npz"
        np.savez(bad, Z=np.eye(4))
        with pytest.raises(DataError, match=r"caf\\xe9.npz: expected numbers 'X'") as raised:
            read_recordings(bad)
        str(raised.value).encode()

    def test_the_command_line_prints_undecodable_file_names(self, tmp_path):
        """In a process of its own, whose output is strict."""
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 0], 20)
        for name in (self.NAME, "other"):
            X = np.column_stack([3.0 * y, np.zeros(60)]) + rng.standard_normal((60, 2))
            np.savez(tmp_path / f"{name}.npz", X=X, y=y)
        code = """
import os, sys
from structsvm.cli import main
os.chdir(sys.argv[1])
name = os.fsdecode(b"caf\\xe9")
model = f"{name}.structsvm"
fit = ["fit", "change-point", f"{name}.npz", "other.npz", "-o", model, "--metric", "diagonal"]
assert main(fit) == 0
for line in (
    ["predict", model, f"{name}.npz"],
    ["predict", model, f"{name}.npz", "--json"],
    ["predict", model, f"{name}.npz", "-o", "one.csv"],
    ["predict", model, f"{name}.npz", "-o", "many"],
    ["evaluate", model, "other.npz", f"{name}.npz"],
    ["evaluate", model, "other.npz", f"{name}.npz", "--json"],
    ["evaluate", model, f"{name}.npz", "-o", f"{name}.html"],
    ["plot", model, f"{name}.npz", "-o", f"{name}.png", "--json"],
    ["show", model],
    ["show", model, "--json"],
):
    assert main(line) == 0, line
assert main(["show", f"{name}.npz"]) == 1
assert main(["fit", "change-point", name, "-o", "new"]) == 1
"""
        out = printed(code, tmp_path)
        assert "caf\\xe9: " in out
        assert "caf\\xe9" in (tmp_path / "one.csv").read_text(encoding="utf-8")
        assert (tmp_path / "many" / "caf\\xe9_segments.csv").is_file()


class TestNamesThatAreTooLong:
    LONG = "a" * 300

    @pytest.mark.parametrize("name", [LONG, "zero\0byte"])
    def test_impossible_file_names_are_refused_with_our_errors(self, tmp_path, name):
        path = tmp_path / name
        X = [np.eye(6)[:, :2]] * 2
        y = [[3, 6]] * 2
        for attempt in (
            lambda: read_recordings(path),
            lambda: read_images(path),
            lambda: read_images(tmp_path, masks=path),
            lambda: load(path),
            lambda: save(
                MetricLearner(solver=CuttingPlane(Stopping(tol=0.5, max_iter=2))).fit(X, y), path
            ),
            lambda: MetricLearner().fit(X, y, resume=path),
            lambda: read_regions(path),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pytest.raises(StructSVMError):
                    attempt()


def test_a_file_that_its_place_has_no_room_for_is_named(tmp_path):
    """As on a disk that is full; what is written first lies beside it, under a name of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            write_atomically(tmp_path / "all.csv", b"x" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.filename == str(tmp_path / "all.csv")
    assert not list(tmp_path.iterdir())
