"""How learning to cut runs: on workers, on from a file, chosen on held-out graphs."""

import warnings
from functools import cache, partial

import numpy as np
import pytest
from cut_cases import planted

from structsvm import MetricLearner, MetricLearnerCV, NormalizedCut, evaluate
from structsvm.errors import CheckpointError, SettingsError, VerdictWarning
from structsvm.parallel import Processes, Threads
from structsvm.solvers.base import Stopping
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.quasi_newton import QuasiNewton

STOPPING = Stopping(tol=1e-5, max_iter=60)


@pytest.fixture(scope="module")
def graphs():
    return planted(np.random.default_rng(5), n=9, noise=4.0)


class PowerCut(BaseException):
    """Ends a run without a word."""


def fitted(graphs, solver, oracle, **settings):
    learner = MetricLearner(NormalizedCut(oracle=oracle), solver=solver, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # rounded: may go on for long
        return learner.fit(graphs[0][:4], graphs[1][:4])


@pytest.fixture(scope="module")
def learned_in_turn(graphs):
    """What is learned of graphs one after the other, once by each solver and oracle."""
    return cache(partial(fitted, graphs))


@pytest.mark.parametrize("oracle", ["relaxed", "rounded"])
@pytest.mark.parametrize("solver", [QuasiNewton(STOPPING), CCCP(STOPPING)])
@pytest.mark.parametrize(
    "settings", [{"n_jobs": 2}, {"backend": Threads(3)}, {"backend": Processes(2)}], ids=str
)
def test_workers_do_not_change_a_bit(graphs, learned_in_turn, solver, oracle, settings):
    serial = learned_in_turn(solver, oracle)
    learner = fitted(graphs, solver, oracle, **settings)
    np.testing.assert_array_equal(learner.metric_.factor.T, serial.metric_.factor.T)
    assert (
        learner.solution_.history.as_dict()["upper"] == serial.solution_.history.as_dict()["upper"]
    )


@pytest.mark.parametrize("solver", [QuasiNewton(STOPPING), CCCP(STOPPING)])
def test_learning_goes_on_from_a_file(graphs, solver, tmp_path):
    """Cut off after two iterations, it ends where a run without a break does."""
    Xs, ys = graphs[0][:4], graphs[1][:4]
    usual = MetricLearner(NormalizedCut(), solver=solver).fit(Xs, ys)

    def cut(entry):
        if entry.iteration == 2:
            raise PowerCut

    file = tmp_path / "state.npz"
    learner = MetricLearner(NormalizedCut(), solver=solver)
    with pytest.raises(PowerCut):
        learner.fit(Xs, ys, resume=file, callback=cut)
    assert file.exists()
    learner.fit(Xs, ys, resume=file)
    assert learner.converged_
    assert learner.n_iter_ > 3
    assert learner.solution_.upper == pytest.approx(usual.solution_.upper, rel=1e-4)
    assert learner.predict_partitions(graphs[0]) == usual.predict_partitions(graphs[0])
    again = MetricLearner(NormalizedCut(), solver=solver).fit(Xs, ys, resume=file)
    assert again.solution_.upper <= learner.solution_.upper * (1 + 1e-12)


def test_a_file_of_other_graphs_or_settings_is_refused(graphs, tmp_path):
    Xs, ys = graphs[0][:4], graphs[1][:4]
    file = tmp_path / "state.npz"
    MetricLearner(NormalizedCut()).fit(Xs, ys, resume=file)
    with pytest.raises(CheckpointError, match="a checkpoint with other"):
        MetricLearner(NormalizedCut()).fit(graphs[0][4:8], graphs[1][4:8], resume=file)
    with pytest.raises(CheckpointError, match="a checkpoint with other"):
        MetricLearner(NormalizedCut(), lam=0.5).fit(Xs, ys, resume=file)
    with pytest.raises(CheckpointError, match="a checkpoint with other"):
        MetricLearner(NormalizedCut(), metric="diagonal").fit(Xs, ys, resume=file)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
@pytest.mark.parametrize("counts", ["known", "unknown"])
def test_choosing_on_held_out_graphs(graphs, counts):
    Xs, ys = graphs
    metrics = ("untrained", "grid", "diagonal", "full")
    search = MetricLearnerCV(
        NormalizedCut(cluster_count=counts), metrics, lams=(0.2, 0.02), cv=2, random_state=0
    ).fit(Xs[:6], ys[:6])
    assert {candidate.name for candidate in search.candidates_} == set(metrics)
    assert search.best_candidate_ in ("diagonal", "full")
    verdict = search.verdict_
    assert verdict.untrained.won >= 4
    assert verdict.untrained.lost == 0
    assert verdict.untrained.n == 6
    assert "On 6 graphs, each held out once" in str(verdict)
    assert set(verdict.contrasts) == {"untrained", "grid", "one-part"}
    found = evaluate(search, Xs[6:], ys[6:])
    assert set(found.scores) == {"learned", "untrained", "grid", "one-part"}
    assert found.learned["loss"] < found.untrained["loss"]
    assert [y.shape for y in search.predict(Xs[6:])] == [(40,)] * 3


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
@pytest.mark.parametrize("counts", ["known", "unknown"])
def test_workers_choose_the_same(graphs, counts):
    metrics = ("untrained", "grid", "diagonal")
    search, again = (
        MetricLearnerCV(
            NormalizedCut(cluster_count=counts), metrics, (0.2,), cv=2, random_state=0, n_jobs=n
        ).fit(graphs[0][:4], graphs[1][:4])
        for n in (None, 2)
    )
    np.testing.assert_array_equal(again.losses_, search.losses_)
    assert again.verdict_ == search.verdict_


def test_the_strengths_of_cuts_are_tried_by_default(graphs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        search = MetricLearnerCV(NormalizedCut(), cv=2, random_state=0).fit(
            graphs[0][:4], graphs[1][:4]
        )
    assert {c.lam for c in search.candidates_ if c.is_learned} == {0.2, 0.02, 0.002}
    assert search.best_lam_ in (0.2, 0.02, 0.002)


def test_resume_is_not_for_labels_in_part(graphs, tmp_path):
    some = [np.where(np.arange(y.size) % 2, y, -1) for y in graphs[1][:3]]
    with pytest.raises(SettingsError, match="not for partial labels"):
        MetricLearner(NormalizedCut()).fit(graphs[0][:3], some, resume=tmp_path / "state")
