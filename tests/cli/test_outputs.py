"""No command writes over what it reads, or over any file without --force."""

import csv
import os
import shutil

import numpy as np
import pytest
from cli_kit import TEST
from cut_cases import disc, write_images

from structsvm.cli import main
from structsvm.learner.files import load


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    """Return a folder with images, masks and a model that cuts them."""
    folder = tmp_path_factory.mktemp("cuts")
    rng = np.random.default_rng(0)
    write_images(folder, [disc(rng) for _ in range(3)])
    line = f"fit normalized-cut {folder} -o {folder / 'c.structsvm'} --lam 0.02 --quiet"
    assert main([*line.split(), "--set", "problem.image.n_superpixels=40"]) == 0
    return folder


@pytest.fixture
def folder(folder, cuts, tmp_path):
    """Return the current folder: recordings of each kind, images, models, and what may be lost."""
    shutil.copy(folder / "m.structsvm", tmp_path / "m.structsvm")
    shutil.copytree(cuts, tmp_path / "cuts")
    shutil.copy(cuts / "c.structsvm", tmp_path / "c.structsvm")
    (tmp_path / "data").mkdir()
    names = [*TEST[0].features, "label"]
    rows = [[*x, int(y)] for x, y in zip(TEST[0].X.tolist(), TEST[0].y, strict=True)]
    for name in ("rec.csv", "data/a.csv", "data/b.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([names, *rows])
    for name in ("old.csv", "old.html", "old.png", "old.npy", "old"):
        (tmp_path / name).write_text("precious")
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


INTO_INPUTS = [
    "predict m.structsvm rec.csv -o rec.csv",
    "predict m.structsvm rec.csv -o ./data/../rec.csv",
    "predict m.structsvm data -o data/a.csv",
    "fit change-point rec.csv -o rec.csv",
    "fit change-point data -o data/b.csv",
    "fit change-point rec.csv -o new --checkpoint rec.csv",
    "predict c.structsvm cuts/img/p0.png -o cuts/img/p0.png",
    "predict c.structsvm cuts -o cuts/mask/p1.png",
    "fit normalized-cut cuts -o cuts/img/p0.png",
    "fit normalized-cut cuts/img --labels cuts/mask -o cuts/mask/p0.png",
    "plot c.structsvm cuts/img/p0.png -o cuts/img/p0.png",
]


@pytest.mark.parametrize("force", ["", " --force"])
@pytest.mark.parametrize("line", INTO_INPUTS)
def test_no_command_overwrites_a_file_that_it_reads(refused, folder, line, force):
    before = contents(folder)
    assert "this command" in refused(line + force)
    assert contents(folder) == before


def test_a_link_to_an_input_is_the_input(refused, folder):
    os.symlink(folder / "rec.csv", folder / "other.csv")
    before = contents(folder)
    assert "other.csv is read by this command and is never overwritten" in refused(
        "predict m.structsvm rec.csv -o other.csv --force"
    )
    assert contents(folder) == before


OVER_FILES = [
    "predict m.structsvm rec.csv -o old.csv",
    "fit change-point data -o old --metric diagonal",
    "fit change-point data -o m.structsvm --metric diagonal",
    "evaluate m.structsvm rec.csv -o old.html",
    "plot m.structsvm rec.csv -o old.png",
    "plot m.structsvm -o old.png",
    "compare change-point data -o old.png --set metric=diagonal --solvers cutting-plane",
    "predict c.structsvm cuts/img/p0.png -o old.npy",
    "fit normalized-cut cuts -o old --lam 0.02 --set problem.image.n_superpixels=40",
]


@pytest.mark.parametrize("line", OVER_FILES)
def test_an_existing_file_is_replaced_with_force_only(run, refused, folder, line):
    target = folder / line.split()[line.split().index("-o") + 1]
    before = contents(folder)
    said = refused(line)
    assert said == f"{target.name} exists: name another file, or replace it with --force"
    assert contents(folder) == before
    assert run(f"{line} --force")[0] == 0
    assert target.read_bytes() != before[target]


class TestFolders:
    def test_predict_adds_a_column_to_tables(self, run, folder):
        assert run("predict m.structsvm data -o data --quiet")[:2] == (0, "")
        with (folder / "data" / "a.csv").open() as file:
            given = list(csv.reader(file))
        with (folder / "data" / "a_segments.csv").open() as file:
            found = list(csv.reader(file))
        assert [row[:-1] for row in found] == given  # to the letter
        assert found[0][-1] == "segment"
        expected = load("m.structsvm").predict([TEST[0].X])[0]
        assert [int(row[-1]) for row in found[1:]] == expected.tolist()

    def test_predict_does_not_rename_an_existing_column(self, run, folder):
        text = (folder / "rec.csv").read_text()
        (folder / "rec.csv").write_text(text.replace("label", "segment", 1))
        assert run("predict m.structsvm rec.csv --set files.label_column=segment -o out")[0] == 0
        header = (folder / "out" / "rec_segments.csv").read_text().splitlines()[0]
        assert header.endswith(",segment,segment_predicted")

    def test_two_inputs_of_one_name_are_refused_for_an_output_folder(self, refused, folder):
        shutil.copytree(folder / "cuts" / "img", folder / "more")
        assert "would be written more than once" in refused(
            "predict c.structsvm cuts/img more -o seen"
        )
        assert not (folder / "seen").exists()

    def test_a_recording_name_with_dots_stays_in_the_output_folder(self, run, folder, monkeypatch):
        shutil.copy(folder / "rec.csv", folder / "data" / "rec.csv")
        monkeypatch.chdir(folder / "data")
        before = contents(folder)
        run(f"predict {folder / 'm.structsvm'} rec.csv ../rec.csv -o out")
        assert {p for p in contents(folder) if (folder / "data" / "out") not in p.parents} == set(
            before
        )

    def test_an_output_folder_that_is_a_file_is_refused(self, refused):
        assert "old is a file: name a folder" in refused("predict m.structsvm rec.csv -o old")


class TestGoingOn:
    LINE = (
        "fit change-point data -o new.structsvm --metric diagonal --baselines none -q "
        "--checkpoint state"
    )

    def test_a_resumed_run_replaces_its_own_model(self, run, folder):
        assert run(self.LINE)[0] == 0
        first = load(folder / "new.structsvm")
        assert run(self.LINE) == (0, "", "")
        assert (load(folder / "new.structsvm").metric_.factor.T == first.metric_.factor.T).all()

    def test_a_resumed_run_replaces_no_other_file(self, run, folder):
        assert run(self.LINE)[0] == 0
        (folder / "new.structsvm").write_text("precious")
        assert run(self.LINE)[0] == 1
        assert (folder / "new.structsvm").read_text() == "precious"

    def test_a_file_that_is_no_checkpoint_is_refused_before_lam_is_chosen(
        self, refused, folder, monkeypatch
    ):
        monkeypatch.setattr("structsvm.cli.fit._choose_lam", None)
        (folder / "state").write_text("precious")
        err = refused(f"{self.LINE} --lam cv")
        assert "state" in err
        assert "give another file to start again" in err
        assert (folder / "state").read_text() == "precious"

    def test_the_checkpoint_is_not_the_model(self, refused):
        assert "--checkpoint new is the model file" in refused(
            "fit change-point data -o new --checkpoint ./new"
        )


def test_a_model_may_be_written_to_dev_null(run):
    assert (
        run("fit change-point data --baselines none --metric diagonal --quiet -o /dev/null")[0] == 0
    )
