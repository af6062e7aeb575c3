"""structsvm try: one command from labelled files to a decision."""

import io
import json
import math
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cases import cases
from cli_kit import TEST, TRAIN
from clocks import Clock
from sklearn.datasets import load_iris

from structsvm import ChangePoint
from structsvm.cli import allowed_time, app, main, try_out
from structsvm.cli.answer import verdict_of
from structsvm.cli.parts import n_items
from structsvm.errors import DataError, LearningError, parameter
from structsvm.evaluation.contrast import LEARNED
from structsvm.evaluation.verdict import Evidence, Verdict
from structsvm.io import files, read_recordings
from structsvm.io.npz import write_recording
from structsvm.learner.files import load
from structsvm.model_selection import MetricLearnerCV, trials
from structsvm.model_selection.named import learner_named
from structsvm.support import progress
from structsvm.support.progress import OutOfTimeError, tell

TRY = "try change-point --minutes 10"
"""With time for all candidates, whatever else the machine does."""


@pytest.fixture
def recordings(tmp_path):
    (tmp_path / "r").mkdir()
    for i, recording in enumerate((*TRAIN, *TEST)):
        write_recording(recording, tmp_path / "r" / f"p{i // 2}_{i % 2}.npz")
    return tmp_path / "r"


@pytest.fixture
def iris(tmp_path):
    return write_iris(tmp_path)


@pytest.fixture
def closed_forms(monkeypatch):
    """Let these alone be chosen from: what is said of a choice does not depend on how many are."""
    methods = MetricLearnerCV._methods

    def few(self, menu):
        closed = [one for one in methods(self, menu) if one.is_metric and not one.has_path]
        quick = [one for one in closed if one.cost < 1.0]  # without features that learn
        # The default is another one than what answers first, as usual.
        return sorted(quick, key=lambda one: one.name != "lags-olda")

    monkeypatch.setattr(MetricLearnerCV, "_methods", few)


def write_iris(folder):
    frame = load_iris(as_frame=True).frame.rename(columns={"target": "label"})
    frame.to_csv(folder / "iris.csv", index=False)
    return folder / "iris.csv"


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """Return the folder of what a table gave, and what was said: status, stdout and stderr."""
    folder = tmp_path_factory.mktemp("tried")
    out = io.StringIO()
    err = io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(
            f"try clustering --minutes 10 {write_iris(folder)} --json -o {folder}/out".split()
        )
    return folder, code, out.getvalue(), err.getvalue()


def test_recordings_give_a_model_a_report_predictions_and_a_next_command(
    run, done, recordings, tmp_path
):
    line = f"{TRY} {recordings} --groups ^p[0-9] -o {tmp_path}/out"
    out, err = done(line)
    learner = load(tmp_path / "out" / "model.structsvm")
    assert len(learner.training_data_) == 4  # two groups of four are held out
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    assert "On 4 held-out recordings in 2 groups" in (tmp_path / "out" / "report.html").read_text()
    assert len(list((tmp_path / "out" / "predicted").iterdir())) == 4
    assert "learned" in out
    said = " ".join(out.split())  # the verdict is about the scores above it, as in the report
    assert "Too few to tell: 2 independent groups of recordings" in said
    assert "what is chosen without it" not in said  # one choice is judged on what is held out
    assert "On 4 held-out recordings in 2 groups" in said
    assert "With 8 independent groups of recordings in all, those that are learned from" in said
    assert {"pca", "rca"} <= learner.baselines_.keys()
    classifiers = {"boundary-logistic", "boundary-boosting"}
    assert len(classifiers - learner.baselines_.keys()) <= 1  # but for what was chosen
    assert f"structsvm predict {tmp_path / 'out' / 'model.structsvm'} NEW" in err.splitlines()[-1]
    # What was chosen is learned from all of them; a model of another problem is refused.
    assert "add --refit" in err
    before = (tmp_path / "out" / "model.structsvm").read_bytes()
    code, out, err = run(f"{line} --refit --json")
    assert (code, json.loads(out)) == (0, {"model": f"{tmp_path}/out/all.structsvm"})
    assert "is not known" in err
    assert (tmp_path / "out" / "model.structsvm").read_bytes() == before
    whole = load(tmp_path / "out" / "all.structsvm")
    assert len(whole.training_data_) == len(learner.training_data_) + 4 == 8
    assert repr(whole) == repr(learner)
    assert whole.baselines_.keys() == learner.baselines_.keys()
    assert run(f"{line} --refit")[0] != 0  # all.structsvm is there
    code, _, err = run(f"try clustering {write_iris(tmp_path)} --refit --force -o {tmp_path}/out")
    assert code != 0
    assert "is of change-point, which --refit cannot learn" in err


@pytest.mark.usefixtures("closed_forms")
def test_try_says_that_its_verdict_is_cross_validated(done, recordings, tmp_path):
    """All eight recordings are taken to be independent: three are held out, and five are enough."""
    out, _ = done(f"{TRY} {recordings} -o {tmp_path}/out")
    said = " ".join(out.split())
    assert "Too little is held out for a verdict; this one is that of the cross-validation" in said
    page = (tmp_path / "out" / "report.html").read_text()
    assert "this one is that of the cross-validation" in page
    assert "Too few to tell" not in page
    assert "On 5 recordings, each held out once, the loss of " in said
    assert "independent recordings in all" not in said


def test_try_splits_a_table_by_its_rows(tried):
    folder, code, out, err = tried
    assert code == 0
    report = json.loads(out)
    assert report["verdict"]["is_supported"]
    assert report["verdict_from"] == "cross-validation"
    page = (folder / "out" / "report.html").read_text()
    assert "The verdict is that of the cross-validation" in page
    assert "Too little" not in page
    command = f"structsvm predict {folder}/out/model.structsvm NEW --n-clusters 3"
    said = report["verdict"]["sentence"]
    learner = load(folder / "out" / "model.structsvm")  # what is advised is what was chosen
    assert f"Use {learner.called}: " in said
    assert "in cross-validation" in said
    verdict = report["verdict"]
    assert (verdict["use"], verdict["best"]) == (None, report["best"])
    assert report["verdict"]["advice"] in " ".join(err.split())
    other = report["verdict"]["use"]
    assert (f"--method {other}" if other else command) in err.splitlines()[-1]
    assert "predict(" not in out + err
    assert "baselines_[" not in out + err
    assert "learning from 105 rows; held out: 45 rows of the same clusters" in err
    (found,) = (folder / "out" / "predicted").iterdir()
    rows = pd.read_csv(found)
    table = pd.read_csv(folder / "iris.csv")
    assert len(rows) == 45
    pd.testing.assert_frame_equal(
        rows[table.columns], table.loc[rows["row"]].reset_index(drop=True)
    )
    assert (rows["label_predicted"] == rows["label"]).mean() > 0.9
    assert "gives most of its rows" in err or "lassifier" in report["chosen"]


def test_rows_that_are_held_out_and_learned_from_at_once_are_counted(
    run, iris, tried, tmp_path, monkeypatch
):
    def interrupt(*_):
        raise KeyboardInterrupt

    frame = pd.read_csv(iris)
    pd.concat([frame, frame]).to_csv(tmp_path / "twice.csv", index=False)
    monkeypatch.setattr(try_out.Search, "_choose", interrupt)  # they are counted before
    code, _, err = run(f"try clustering {tmp_path}/twice.csv -o {tmp_path}/out")
    assert code == 130, err
    assert "of the 90 held-out rows equal training rows" in err
    assert "equal training rows" not in tried[-1]  # of iris, in which two rows are alike


@pytest.mark.usefixtures("closed_forms")
def test_try_writes_the_predictions_that_it_judged(done, tmp_path):
    """The price of a cluster would make another number of clusters than that of the labels."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 4)), columns=list("abcd"))
    frame.assign(label=rng.integers(0, 3, 90)).to_csv(tmp_path / "noise.csv", index=False)
    out, _ = done(f"try clustering {tmp_path}/noise.csv --json -o {tmp_path}/out")
    (path,) = (tmp_path / "out" / "predicted").iterdir()
    found = pd.read_csv(path)
    counts = pd.crosstab(found["cluster"], found["label"]).to_numpy(dtype=float)
    rows = counts.sum(axis=1)
    columns = counts.sum(axis=0)
    assert len(rows) == len(columns) == 3
    loss = len(rows) + len(columns) - 2 * (counts**2 / np.outer(rows, columns)).sum()
    report = json.loads(out)
    assert loss == pytest.approx(report[report["predicted_with"]]["loss"])


@cases(
    ("--groups (", "--groups '(' is no regular expression"),
    ("--groups ^q", "--groups '^q' finds nothing in the name 'p0_0'"),
    (
        "--groups ^p",
        "1 group: too few to choose from once some are held out; label at least 4, and 8 for a "
        "verdict, give --groups '.+' if each file is independent, or use structsvm fit",
    ),
    ("--split rows", "--split rows is for tables, whose rows have no order"),
)
def test_try_refuses_recordings_that_cannot_be_split(
    refused, recordings, tmp_path, options, message
):
    said = refused(f"try change-point {recordings} {options} -o {tmp_path}/out")
    assert said.startswith(message)
    assert not (tmp_path / "out").exists()


def judged(cross_validated=False, **gains):
    """The verdict by these gains over each baseline."""
    losses = {LEARNED: np.ones(gains["untrained"].size)} | {
        name: 1 + gain for name, gain in gains.items()
    }
    return Verdict.of(losses, evidence=Evidence(cross_validated=cross_validated))


@pytest.mark.parametrize(("gain", "is_said"), [(-0.3, True), (0.3, False)])
def test_held_out_recordings_that_contradict_the_cross_validation_are_mentioned(gain, is_said):
    """Of three recordings above whose scores "Learning pays" stood, without a word on them."""
    ours = np.linspace(1.0, 2.0, 6)
    chosen = judged(cross_validated=True, untrained=0.2 + ours / 9)
    few = judged(untrained=np.full(3, gain))
    learner = SimpleNamespace(problem_=ChangePoint())
    search = SimpleNamespace(split=None, verdict_=chosen, best_estimator_=learner)
    verdict = verdict_of(search, few, "structsvm fit change-point r --method", "")
    assert verdict.evidence.cross_validated
    assert verdict.answer.startswith("Learning pays")
    note = "The few held-out data point the other way: there the loss of the "
    assert (f"{note}learned metric is 0.3 higher than that of the" in str(verdict)) == is_said


def test_a_single_recording_supports_no_verdict():
    chosen = judged(cross_validated=True, untrained=np.linspace(1.0, 2.0, 6))
    search = SimpleNamespace(split=None, verdict_=chosen)
    verdict = verdict_of(search, judged(untrained=np.ones(1)), "", "Who knows?")
    assert not verdict.evidence.cross_validated
    assert not verdict.is_supported
    assert str(verdict).endswith("Who knows?")


@pytest.mark.usefixtures("closed_forms")
def test_try_prints_findings_of_the_diagnosis(done, iris, tmp_path):
    """A column that was made of the labels gave perfect scores, and the page alone said why."""
    frame = pd.read_csv(iris)
    frame.assign(code=frame["label"] * 2.0).to_csv(iris, index=False)
    out, err = done(f"try clustering {iris} --json -o {tmp_path}/out")
    assert "of which the report says what to do: labels among features" in err
    assert json.loads(out)["findings"][0]["kind"] == "labels among features"


def test_clusters_of_a_single_row_are_named(refused, iris, tmp_path):
    frame = pd.read_csv(iris).astype({"label": str})
    frame.loc[7, "label"] = "setosa?"
    frame.to_csv(iris, index=False)
    said = refused(f"try clustering {iris} -o {tmp_path}/out")
    assert "iris.csv has clusters of a single row, of which none can be held out: 'setosa?'" in said


@cases(
    ({"untrained": 3.0, "boundary-boosting": 0.8}, "boundary-boosting"),
    ({"untrained": 3.0, "boundary-boosting": 1.2}, None),
    ({"untrained": 3.0, "rca": 1.0}, None),
    ({"untrained": 3.0, "rca-plain": 0.9}, None),
    ids=["better", "worse", "level", "not-in-the-model"],
)
def test_the_next_command_of_try_uses_the_advised_method(losses, baseline):
    """The advice is that of the cross-validation, whoever gives the verdict."""
    ours = np.linspace(1.0, 2.0, 12)
    crossed = judged(True, **{name: (by - 1.0) * ours for name, by in losses.items()})
    search = SimpleNamespace(split=None, verdict_=crossed)
    for n in (1, 12):
        held_out = judged(untrained=np.linspace(1.0, 2.0, n), rca=np.full(n, -0.1))
        verdict = verdict_of(search, held_out, "structsvm fit change-point r --method", "")
        verdict = replace(verdict, ranking=verdict.ranking.among(losses.keys() - {"rca-plain"}))
        assert verdict.evidence.cross_validated == (n == 1)
        assert verdict.use == baseline
        assert "loss in cross-validation" in verdict.advice


def test_labels_without_any_change_are_named_before_anything_is_split(refused, tmp_path):
    (tmp_path / "r").mkdir()
    for i, recording in enumerate((*TRAIN, *TEST)):
        still = replace(recording, y=np.zeros(len(recording.X), dtype=int))
        write_recording(still, tmp_path / "r" / f"p{i}.npz")
    said = refused(f"try change-point {tmp_path}/r -o {tmp_path}/out")
    assert "every recording is one single segment: label at least one that has two" in said
    assert "label at least one that has two" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("closed_forms")
def test_the_first_answer_is_kept_and_an_interrupted_run_goes_on(
    run, done, recordings, tmp_path, monkeypatch
):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    line = f"{TRY} {recordings} --groups ^p[0-9] -o {tmp_path}/out"
    with monkeypatch.context() as patched:
        patched.setattr("structsvm.model_selection.search.fit_methods", interrupt)
        code, out, err = run(line)
    assert (code, out) == (130, "")
    assert f"{tmp_path}/out holds the answer so far; the same command with --resume" in err
    first = load(tmp_path / "out" / "model.structsvm")
    assert first.metric == "olda"
    assert (tmp_path / "out" / "report.html").is_file()
    assert len(list((tmp_path / "out" / "predicted").iterdir())) == 4

    monkeypatch.setattr("structsvm.model_selection.trials.Task.tried_in", None)  # nothing again
    out, err = done(f"{line} --resume --json")
    assert "first answer" not in err
    assert json.loads(out)["untried"] == {}
    assert repr(load(tmp_path / "out" / "model.structsvm")) != repr(first)


@pytest.mark.parametrize("late", ["choose", "_judged"])
@pytest.mark.parametrize("json_too", ["", " --json"])
def test_try_does_not_judge_an_answer_again_without_time(
    done, recordings, tmp_path, monkeypatch, late, json_too
):
    line = f"{TRY} {recordings} -o {tmp_path}/out --minutes 0{json_too}"
    first, _ = done(line)
    written = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}

    def out_of_time(*_, **__):
        raise OutOfTimeError

    owner = try_out.MetricLearnerCV if late == "choose" else try_out.Search
    monkeypatch.setattr(owner, late, out_of_time)
    out, err = done(f"{line} --resume")
    assert "no time to judge it again" in err
    assert out == first
    assert {path: path.read_bytes() for path in written} == written
    (tmp_path / "out" / "answer.json").unlink()  # as an earlier version left it
    out, _ = done(f"{line} --resume")
    told = {"model": str(tmp_path / "out" / "model.structsvm")}
    assert (json.loads(out) if json_too else out) == (told if json_too else "")


def test_a_late_choice_leaves_the_first_answer(done, recordings, tmp_path, monkeypatch):
    choose = try_out.Search._choose

    def late(self, seconds):
        if seconds > 0:
            raise OutOfTimeError
        choose(self, seconds)

    monkeypatch.setattr(try_out.Search, "_choose", late)
    line = f"{TRY} {recordings} -o {tmp_path}/out"
    out, err = done(line)
    assert f"there was no time to choose: {tmp_path}/out holds the answer so far" in err
    assert "first answer after" in err
    written = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    again, err = done(f"{line} --resume")
    assert "holds the answer so far" in err
    assert again == out
    assert {path: path.read_bytes() for path in written} == written


@pytest.mark.parametrize("minutes", [0.1, 1, 4])
def test_an_endless_choice_ends_soon_after_its_time(
    done, recordings, tmp_path, monkeypatch, minutes
):
    clock = Clock.of(monkeypatch, allowed_time, app, try_out, progress)
    start = clock.now

    choose = try_out.Search._choose

    def slow(self, seconds):
        while seconds > 0:
            clock.sleep(0.5)
            tell("slowly", 0.5)
        choose(self, seconds)

    monkeypatch.setattr(try_out.Search, "_choose", slow)
    _, err = done(f"try change-point {recordings} --minutes {minutes} -o {tmp_path}/out")
    assert "holds the answer so far" in err
    assert 60 * minutes <= clock.now - start <= 1.3 * 60 * minutes


@pytest.mark.usefixtures("closed_forms")
@pytest.mark.parametrize(("minutes", "quick"), [(0.5, 700), (1, 500), (4, 450)])
def test_an_endless_first_answer_is_learned_from_fewer_samples(
    done, recordings, tmp_path, monkeypatch, minutes, quick
):
    clock = Clock.of(monkeypatch, allowed_time, app, try_out, progress)
    monkeypatch.setattr(try_out, "FEWEST_SAMPLES", 50)
    start = clock.now
    choose = try_out.Search._choose

    def slow(self, seconds):
        while n_items(self.train) > quick:
            clock.sleep(0.5)
            tell("slowly", 0.5)
        choose(self, seconds)

    monkeypatch.setattr(try_out.Search, "_choose", slow)
    _, err = done(f"try change-point {recordings} --minutes {minutes} -o {tmp_path}/out")
    assert clock.now - start <= 1.3 * 60 * minutes
    assert "first answer after" in err
    assert "more --minutes take more of them" in err
    assert (tmp_path / "out" / "model.structsvm").is_file()


@pytest.mark.usefixtures("closed_forms")
@pytest.mark.parametrize("busy", [0.5, 40.0])
def test_a_busy_machine_begins_with_fewer_samples(done, recordings, tmp_path, monkeypatch, busy):
    """Three times in four, a first answer of as many as on an idle one was given up half done."""
    clock = Clock.of(monkeypatch, allowed_time, app, try_out, progress)
    clock.process_time = lambda: 0.1
    monkeypatch.setattr(try_out, "FEWEST_SAMPLES", 500)
    reading = try_out._read

    def slow(*args):
        clock.sleep(busy * 0.1)
        return reading(*args)

    monkeypatch.setattr(try_out, "_read", slow)
    _, err = done(f"try change-point {recordings} --minutes 1 -o {tmp_path}/out")
    learned = re.search(r"in time, ([\d,]+) of", err)
    assert learned is None if busy < 1.0 else int(learned[1]) <= 500


@pytest.mark.usefixtures("closed_forms")
@pytest.mark.parametrize(("n", "fewest"), [(12, 8), (30, 3)])
def test_try_limits_the_time_of_reading(done, tmp_path, monkeypatch, n, fewest):
    clock = Clock.of(monkeypatch, allowed_time, app, try_out, progress)
    monkeypatch.setattr("structsvm.cli.inputs.FEWEST_READ", fewest)
    read = files.read_file

    def slow(*args, **kwargs):
        clock.sleep(5.0)
        return read(*args, **kwargs)

    monkeypatch.setattr(files, "read_file", slow)
    (tmp_path / "r").mkdir()
    known = (*TRAIN, *TEST)
    for k in range(n):
        one = known[k % len(known)]
        write_recording(replace(one, X=one.X + 1e-9 * k), tmp_path / "r" / f"{k}.npz")
    start = clock.now
    _, err = done(f"try change-point {tmp_path}/r --minutes 1 -o {tmp_path}/out")
    n_read = max(fewest, math.ceil(60 * allowed_time.READING / 5))
    assert f"to answer in time, {n_read} of {n} files are read" in err
    assert clock.now - start <= 1.3 * 60
    start = clock.now
    line = f"try change-point {tmp_path}/r --resume -o {tmp_path}/out"
    again, err = done(f"{line} --minutes {n_read / 12}")
    assert clock.now - start == 5 * n_read  # the same files
    assert "files are read" not in err
    start = clock.now
    late, err = done(f"{line} --minutes 0.1")
    assert "no time to judge it again" in err
    assert late == again != ""
    assert clock.now - start < 1.3 * 6 + 5  # and the file that is read then


@pytest.mark.parametrize("work", ["Reading.layers", "_checked", "Answer.of", "load_learner"])
def test_an_interrupted_try_ends_even_in_endless_work(
    done, recordings, tmp_path, monkeypatch, work
):
    """What cannot be judged again stays as it is, and is told as it was."""
    line = f"{TRY} {recordings} -o {tmp_path}/out --json"
    first, _ = done(line + " --minutes 0")
    written = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}

    def for_ever(*_, **__):
        while True:
            pass

    monkeypatch.setattr(f"structsvm.cli.try_out.{work}", for_ever)
    monkeypatch.setattr(allowed_time.Time, "over", property(lambda _: -math.inf))
    out, err = done(line + " --resume")
    assert "no time to judge it again" in err
    assert out == first
    assert {path: path.read_bytes() for path in written} == written


@pytest.mark.usefixtures("closed_forms")
@pytest.mark.parametrize("at_once", [300, 500])
def test_first_answers_on_a_part_are_resumed_beside_choices_on_the_whole(
    done, recordings, tmp_path, monkeypatch, at_once
):
    """A first answer that is learned from fewer samples than the choice is no reason to refuse."""
    monkeypatch.setattr(try_out, "FIRST_SAMPLES", at_once)
    monkeypatch.setattr(try_out, "SAMPLES_A_SECOND", 1000)
    line = f"{TRY} {recordings} --groups ^p[0-9] -o {tmp_path}/out"
    _, err = done(line)
    assert "to answer in time" in err
    assert "chosen by cross-validation" in err
    monkeypatch.setattr("structsvm.model_selection.trials.Task.tried_in", None)  # nothing again
    out, _ = done(f"{line} --resume --json")
    assert json.loads(out)["untried"] == {}


def test_only_a_better_answer_replaces_one_and_names_are_kept(done, tmp_path, monkeypatch, request):
    rng = np.random.default_rng(0)
    for i in range(6):
        y = np.repeat(rng.permutation(["rest", "walk", "run"] * 2), rng.integers(15, 30, 6))
        X = np.stack([y == "walk", y == "run"], axis=1) + rng.normal(scale=0.3, size=(y.size, 2))
        pd.DataFrame(X).assign(label=y).to_csv(tmp_path / f"{i}.csv", index=False)
    line = f"try change-point {' '.join(str(tmp_path / f'{i}.csv') for i in range(6))} --json"
    line += f" -o {tmp_path}/out"
    first = json.loads(done(f"{line} --minutes 0")[0])
    model = (tmp_path / "out" / "model.structsvm").read_bytes()
    request.getfixturevalue("closed_forms")  # none of which the first answer is
    for worse in ("untrained", "olda", "equal-segments"):  # what was tried is tried once

        def choose(self, seconds, worse=worse):
            self.search.choose(self.train.data, resume=tmp_path / "out" / "tried.npz")
            learner = learner_named(worse, self.train.data.problem)
            self.search.best_estimator_ = learner.fit(self.train.data.at(range(4)))

        monkeypatch.setattr(try_out.Search, "_choose", choose)
        again = json.loads(done(f"{line} --minutes 10 --resume")[0])
        assert again["learned"]["loss"] == first["learned"]["loss"], worse
        assert again["learned"]["accuracy"] == first["learned"]["accuracy"] > 0.9
        assert (tmp_path / "out" / "model.structsvm").read_bytes() == model
        for path in (tmp_path / "out" / "predicted").iterdir():
            assert "state" in path.read_text().splitlines()[0]


@pytest.mark.parametrize("kind", [DataError, LearningError])
def test_the_next_simpler_method_answers_where_the_first_cannot_learn(
    done, recordings, tmp_path, monkeypatch, kind
):
    tried = trials.try_metrics

    def refusing(asked, fold):
        if any(candidate.is_first for candidate in asked):
            return [fold.failed(kind("it cannot"), 0.0) for _ in asked]
        return tried(asked, fold)

    monkeypatch.setattr(trials, "try_metrics", refusing)
    _, err = done(f"try change-point {recordings} --minutes 0 -o {tmp_path}/out")
    assert "statistics-olda is not compared: it cannot" in err
    assert load(tmp_path / "out" / "model.structsvm").metric in ("untrained", "rca", "olda")


def test_try_without_time_gives_the_first_answer(done, recordings, tmp_path):
    out, err = done(f"try change-point {recordings} --minutes 0 -o {tmp_path}/out")
    assert "first answer after" in err
    assert "there was no time for " in err
    assert {"untrained", "rca", "learned"} <= {line.split(" ")[0] for line in out.splitlines()}


@pytest.mark.parametrize("rare", [1, 2])
def test_a_state_that_only_held_out_recordings_have_counts_as_named_wrongly(done, tmp_path, rare):
    rng = np.random.default_rng(0)
    for i in range(4):
        own = [f"only in {i}, {k}" for k in range(rare)]
        y = np.repeat(["rest", "walk", *own, "rest", "walk"], 20)
        X = (y == "walk")[:, None] + rng.normal(scale=0.1, size=(y.size, 2))
        pd.DataFrame(X).assign(label=y).to_csv(tmp_path / f"{i}.csv", index=False)
    files = " ".join(str(tmp_path / f"{i}.csv") for i in range(4))
    out, _ = done(f"try change-point {files} --minutes 0 --json -o {tmp_path}/out")
    found = json.loads(out)
    assert found["learned"]["accuracy"] <= 4 / (4 + rare) + 1e-9
    named = found["confusion"]["learned"]["states"]
    assert sum(name.startswith("only in") for name in named) >= rare


def test_the_demo_runs_once_and_again(run, done, tmp_path):
    folder = tmp_path / "deep" / "demo"
    out, err = done("demo --output", folder)
    assert "Learning pays" in out
    assert "warning" not in err
    for name in ("digits.structsvm", "digits.png", "train", "test"):
        assert str(folder / name) in err
    assert (folder / "digits.png").stat().st_size > 10_000
    # The commands it proposes work.
    (_, *commands) = [c.split()[1:] for c in err.splitlines() if c.startswith("  structsvm ")]
    assert [command[0] for command in commands] == ["show", "evaluate", "predict", "fit", "try"]
    for command in commands[:3]:
        assert run(" ".join(command))[0] == 0
    out, _ = done("demo --recordings 2 --json --quiet --force --output", folder)
    report = json.loads(out)
    assert report["learned"]["loss"] < report["untrained"]["loss"]
    assert report["model"] == str(folder / "digits.structsvm")
    assert len(read_recordings(folder / "test")) == 2


def test_try_learns_each_layer_from_the_same_arrays(run, done, tmp_path, monkeypatch):
    rows = []
    for recording in TRAIN[:3]:
        frame = pd.DataFrame(recording.X, columns=recording.features)
        frame.to_csv(tmp_path / f"{recording.name}.csv", index=False)
        rows += [(recording.name, "a/b", 0, 90), (recording.name, "walk", 50, 150)]
    rows += [(TRAIN[0].name, "run", 10, 20)]
    labels = tmp_path / "all.tsv"
    header = ["recording", "event", "start", "end"]
    pd.DataFrame(rows, columns=header).to_csv(labels, index=False, sep="\t")
    tried = {}

    def try_layer(inputs, plan):
        tried[plan.output.name] = inputs
        if len(tried) == 3:
            raise DataError("too few, give " + parameter("label_column"))
        loss = {"loss": 0.5}
        plain = {"predicted_with": "learned", "learned": loss, "verdict": {"sentence": "Yes. No."}}
        inputs.terminal.report({**plain, "report": "r.html"}, "the table")

    monkeypatch.setattr(try_out, "_try_layer", try_layer)
    data = [tmp_path / f"{one.name}.csv" for one in TRAIN[:3]]
    out, err = done("try change-point -o tried --labels", labels, *data)
    assert list(tried) == ["a_b", "walk", "run"]
    assert tried["walk"].Xs[0] is tried["a_b"].Xs[0]
    assert out.splitlines()[-2:] == [
        "a/b: loss 0.500 (learned). Yes. r.html",
        "walk: loss 0.500 (learned). Yes. r.html",
    ]
    assert "run: too few, give --label-column" in err
    tried.clear()
    out, _ = done("try change-point --json -o tried --labels", labels, *data)
    assert list(json.loads(out)["layers"]) == ["a/b", "walk"]
