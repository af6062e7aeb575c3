"""structsvm fit, to its end and interrupted."""

import csv
import json
import signal
from pathlib import Path

import numpy as np
from cases import cases
from cli_kit import TRAIN

import structsvm
from structsvm.learner.files import load
from structsvm.masters.newton import master_from
from structsvm.problem import Status
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.first_order import BlockFrankWolfe


class TestFit:
    def test_fit_tells_the_data_the_certificate_and_the_file(self, run, tmp_path):
        code, out, err = run("fit change-point train --metric diagonal -o", tmp_path / "m")
        assert (code, out) == (0, "")
        assert "learned from 4 recordings of 200 samples" in err
        assert "optimal within the tolerance: " in err
        assert f"saved in {tmp_path / 'm'}" in err
        learner = load(tmp_path / "m")
        assert learner.baselines_.keys() >= {"untrained", "pca", "rca"}
        assert learner.feature_names_in_.tolist() == list(TRAIN[0].features)

    def test_settings_typed_by_set_reach_the_learner(self, run, tmp_path):
        line = (
            "fit change-point train -q --baselines none --metric diagonal --lam 0.02 "
            "--set regularizer=trace --set standardize=none "
            "--set solver.slack=one --set solver.tol=0.05 "
            "--set solver.max_iter=50 --set solver.master=clarabel "
            "--set problem.segment_count=known --set problem.penalty=fixed "
            "--set problem.kappa=0.5 -o"
        )
        assert run(line, tmp_path / "m") == (0, "", "")
        expected = {
            "problem": structsvm.ChangePoint("known", "fixed", 0.5),
            "metric": "diagonal",
            "regularizer": "trace",
            "lam": 0.02,
            "standardize": None,
            "solver": CuttingPlane(Stopping(0.05, 50), "one", master_from("clarabel")),
        }
        assert expected.items() <= load(tmp_path / "m").get_params().items()

    def test_solver_workers_and_checkpoint_that_are_typed_reach_the_learner(self, run, tmp_path):
        line = "fit change-point train -q --baselines none --metric diagonal --jobs 2 "
        state = tmp_path / "state"
        line += f"--set solver=frank-wolfe --set backend=threads --checkpoint {state} -o"
        assert run(line, tmp_path / "m") == (0, "", "")
        learner = load(tmp_path / "m")
        solver = BlockFrankWolfe(Stopping(1e-2, 200))
        expected = {"solver": solver, "n_jobs": 2, "backend": "threads"}
        assert expected.items() <= learner.get_params().items()
        before = state.read_bytes()
        assert run(line, tmp_path / "again") == (0, "", "")
        assert state.read_bytes() == before
        assert (load(tmp_path / "again").metric_.factor.T == learner.metric_.factor.T).all()
        code, _, err = run(f"{line[:-2]} --lam 0.2 -o", tmp_path / "other")
        assert code != 0
        assert "a checkpoint with other regularizer" in err

    def test_a_fit_that_has_not_converged_warns(self, done, tmp_path):
        _, err = done(
            "fit change-point train --baselines none --metric diagonal --set solver.max_iter=3 "
            "--set solver.tol=1e-12 -o",
            tmp_path / "m",
        )
        assert "warning: stopped at max_iter before the tolerance was reached" in err

    def test_verbose_fit_logs_every_iteration(self, run, tmp_path):
        line = "fit change-point train --baselines none --metric diagonal"
        _, _, err = run(f"{line} --verbose -o", tmp_path / "m")
        assert "HistoryEntry(iteration=0" in err
        _, _, err = run(f"{line} -o", tmp_path / "m")
        assert "HistoryEntry" not in err

    @cases(
        ("--lam 0", "lam must be > 0, got 0.0"),
        ("--set problem.kappa=1.5", "kappa must be from 1e-12 to 1, got 1.5"),
        ("--set solver.master=spam", "'spam' is not installed; these are: "),
        ("--set solver.tol=-1", "tol must be"),
    )
    def test_impossible_settings_of_fit_are_refused_before_a_model_is_written(
        self, refused, tmp_path, options, message
    ):
        said = refused(f"fit change-point train {options} -o", tmp_path / "m")
        assert message in said
        assert not (tmp_path / "m").exists()


class TestCtrlC:
    def interrupt_at(self, monkeypatch, iteration):
        def tell(words, part):
            if words.startswith(f"iteration {iteration + 1},"):
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr("structsvm.solvers.base.tell", tell)

    def test_an_interrupted_fit_saves_the_best_certified_metric(self, run, tmp_path, monkeypatch):
        self.interrupt_at(monkeypatch, 3)
        code, _, err = run(
            "fit change-point train --metric diagonal --set solver.tol=1e-12 -o", tmp_path / "m"
        )
        assert code == 130
        assert f"the best model so far is saved in {tmp_path / 'm'}" in err
        learner = load(tmp_path / "m")
        assert learner.solution_.status is Status.INTERRUPTED
        assert learner.solution_.lower <= learner.solution_.upper
        assert not learner.converged_

    def test_an_interruption_before_the_first_metric_saves_nothing(
        self, run, tmp_path, monkeypatch
    ):
        """So strong a regularizer that even the untrained metric is worse than none."""
        self.interrupt_at(monkeypatch, 0)
        code, out, err = run(
            "fit change-point train --set regularizer=trace --lam 1e6 -o", tmp_path / "m"
        )
        assert (code, out) == (130, "")
        assert err.endswith("interrupted before there was a metric to save\n")
        assert not list(tmp_path.iterdir())

    def test_an_interruption_of_show_ends_with_a_message(self, run, monkeypatch):
        def interrupted(path):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr("structsvm.cli.show.load_learner", interrupted)
        assert run("show m.structsvm") == (130, "", "interrupted\n")


def test_fit_learns_saves_and_shows_rates_of_margins(done, tmp_path):
    model = tmp_path / "m.structsvm"
    _, err = done("fit change-point train --metric diagonal --rates -o", model)
    assert "held-out recordings were within 5 samples of a labelled one" in err
    assert load(model).margin_rates_.n_recordings == 4
    out, _ = done("predict --margins", model, "test")
    assert "(margins " in out
    assert "(rates 0." in out
    done("predict --level 0.8 -o", tmp_path / "s.csv", model, "test")
    header, _, second, *_ = (tmp_path / "s.csv").read_text().splitlines()
    assert header.endswith("margin,rate,from,to,possible")
    row = dict(zip(header.split(","), next(csv.reader([second])), strict=True))
    assert int(row["from"]) <= int(row["start"]) <= int(row["to"])
    done("plot --margins -o", tmp_path / "p.png", model, "test/synthetic_00.npz")
    done("plot --level 0.8 -o", tmp_path / "r.png", model, "test/synthetic_00.npz")


def test_rates_of_margins_are_refused_for_tables(refused, tmp_path):
    said = refused("fit clustering train --rates -o", tmp_path / "m.structsvm")
    assert said == "--rates is for changes of recordings, not for clustering"


LAZY = "fit change-point train --metric diagonal --baselines none --quiet -o"


@cases("--scheduler {}", "--set files.lazy=true --jobs 2 --set backend=processes")
def test_files_read_later_give_the_same_model_as_files_in_memory(run, tmp_path, client, options):
    assert run(f"{LAZY} {tmp_path}/here")[0] == 0
    code, out, err = run(
        f"{LAZY} {tmp_path}/there --json {options.format(client.scheduler.address)}"
    )
    assert (code, err) == (0, "")
    assert '"unlabelled_samples": 0' in out
    here, there = (structsvm.load(tmp_path / name) for name in ("here", "there"))
    assert np.array_equal(here.metric_.factor, there.metric_.factor)
    assert here.metric_.price == there.metric_.price
    assert here.training_data_ == there.training_data_
    assert here.feature_names_in_.tolist() == there.feature_names_in_.tolist()
    assert run(f"evaluate {tmp_path}/there test --quiet")[0] == 0


def test_recordings_larger_than_memory_are_read_one_at_a_time(done, tmp_path, monkeypatch):
    size = sum(path.stat().st_size for path in Path("train").iterdir())
    for bytes_, told in ((size - 1, True), (size, False)):
        sizes = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": bytes_}
        monkeypatch.setattr("structsvm.cli.fit.os.sysconf", sizes.__getitem__)
        line = f"fit change-point train --metric diagonal --baselines none -o {tmp_path}/{bytes_}"
        _, err = done(line)
        assert ("read one at a time, whenever needed" in err) == told
    models = [structsvm.load(tmp_path / str(bytes_)) for bytes_ in (size - 1, size)]
    assert np.array_equal(*(model.metric_.factor for model in models))


@cases(
    ("--scheduler nowhere://1", "--scheduler nowhere://1: no scheduler answers"),
    (
        "--set files.lazy=true --recording-column who",
        "and with --set files.lazy=True they are read",
    ),
    (
        "--scheduler tcp://127.0.0.1:1 --recording-column who",
        "--recording-column needs all recordings in memory",
    ),
)
def test_options_that_need_recordings_in_memory_are_refused_for_files_read_later(
    refused, tmp_path, options, said
):
    assert said in " ".join(refused(f"{LAZY} {tmp_path}/m {options}").split())


def test_compare_prints_a_table_and_draws_a_picture(done, folder):
    out, _ = done(
        "compare change-point train --set metric=diagonal --set solver.tol=0.01 -o gaps.svg"
    )
    for name in ("cutting-plane", "cutting-plane/clarabel", "one-slack", "frank-wolfe"):
        assert name in out
    assert (folder / "gaps.svg").read_text().count("oracle calls") == 1


def test_compare_shows_the_least_and_the_most_seconds_of_repeats(done):
    line = "compare change-point train --set metric=diagonal --set solver.tol=0.1"
    out, _ = done(f"{line} --solvers one-slack --repeats 2 --json")
    (row,) = json.loads(out)["solvers"]
    assert row["seconds_least"] <= row["seconds"] <= row["seconds_most"]


def test_compare_leaves_out_unsuitable_solvers_and_says_so(done):
    line = "compare change-point train --set metric=diagonal --set solver.tol=0.1"
    out, _ = done(f"{line} --set regularizer=trace")
    assert out.splitlines()[-1].startswith("frank-wolfe left out: ")
    assert out.count("frank-wolfe") == 1


@cases(
    ("compare change-point train --solvers simplex", "got 'simplex'"),
    ("compare change-point train --solvers cccp", "for objectives that are not convex"),
    (
        "compare change-point train --solvers frank-wolfe --set regularizer=trace",
        "strongly convex",
    ),
    ("compare change-point train --set problem.spam=1", "has no setting 'spam'"),
    ("compare change-point train --set solver.slack=one", "compare has no such parameter"),
    ("compare change-point train -o gaps.txt", "the name must end with one of"),
)
def test_compare_refuses_wrong_options_with_a_message(refused, line, message):
    assert message in refused(line)
