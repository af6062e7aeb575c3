"""Whole runs on recordings that are read one at a time: folds, Ctrl-C, recipes for clusters."""

import re
import sys
import types
from pathlib import Path

import distributed
import numpy as np
import pytest
from interrupted import output_of_interrupted
from sklearn.model_selection import GroupKFold

from structsvm import MetricLearner, MetricLearnerCV
from structsvm.datasets import relevant_changes
from structsvm.io import RecordingFiles, arrays_and_labels, write_recording

RECORDINGS = relevant_changes(6, n_samples=220, n_features=4, n_relevant=2, random_state=0)
XS, YS = arrays_and_labels(RECORDINGS)
DOCS = Path(__file__).resolve().parents[1] / "docs"


class Sequence:
    """Gives one recording at a time."""

    def __len__(self):
        return len(XS)

    def __getitem__(self, i):
        return XS[i].copy(), YS[i]


@pytest.mark.parametrize(
    "settings",
    [
        {"cv": 2, "random_state": 4},
        {"cv": GroupKFold(3)},
        {"rule": "min", "n_clusters": "true", "standardize": "training"},
    ],
    ids=["shuffled", "splitter", "number of segments"],
)
def test_folds_choice_and_verdict_are_those_in_memory(settings):
    search = {"candidates": ("untrained", "pca", "diagonal"), "lams": (0.1, 0.3), "cv": 3}
    search |= {"random_state": 0} | settings
    groups = ["a", "b", "c", "a", "b", "c"]
    found = []
    for Xs, ys in ((XS, YS), (Sequence(), None)):
        learner = MetricLearnerCV(**search)
        learner.choose(Xs, ys, groups=groups)
        found.append(learner)
    mine, theirs = found
    assert mine.fold_.tolist() == theirs.fold_.tolist()
    assert np.array_equal(mine.losses_, theirs.losses_)
    assert (mine.best_candidate_, mine.best_lam_) == (theirs.best_candidate_, theirs.best_lam_)
    assert str(mine.verdict_) == str(theirs.verdict_)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_the_choice_is_learned_again_from_all_recordings():
    search = {"candidates": ("untrained", "diagonal"), "lams": (0.1,), "cv": 2, "random_state": 0}
    mine = MetricLearnerCV(**search).fit(XS, YS).best_estimator_
    theirs = MetricLearnerCV(**search).fit(Sequence()).best_estimator_
    assert np.array_equal(mine.metric_.factor, theirs.metric_.factor)
    assert mine.metric_.price == theirs.metric_.price


INTERRUPTED = """
    import time
    from structsvm.storage import limits
    limits.KEPT = 1  # every round reads every recording
    import warnings
    warnings.simplefilter("ignore")
    from structsvm import MetricLearner
    from structsvm.datasets import relevant_changes
    from structsvm.solvers import CuttingPlane, Stopping

    class Slow:
        held = relevant_changes(8, n_samples=220, n_features=4, n_relevant=2, random_state=0)
        def __len__(self):
            return 8
        def __getitem__(self, i):
            time.sleep(0.02)
            return self.held[i].X, self.held[i].y

    solver = CuttingPlane(Stopping(1e-15, 100_000))
    learner = MetricLearner(metric="diagonal", solver=solver, n_jobs=2, backend={backend!r})
    learner.fit(Slow(), callback=lambda entry: print(entry.iteration, flush=True))
    found = learner.solution_
    print(found.status.name, found.lower <= found.upper, len(learner.predict(Slow())), flush=True)
"""


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_ctrl_c_while_recordings_are_read_returns_the_best_so_far(backend, tmp_path):
    """Learning ends with a certificate, a calibrated price or the learned one, and no worker."""
    output = output_of_interrupted(INTERRUPTED.format(backend=backend), b"1\n", tmp_path)
    assert output.endswith(b"INTERRUPTED True 8\n")


class OfThisMachine(distributed.LocalCluster):
    """Stands in for a cluster of a queueing system or of Kubernetes: the same calls, two workers.

    What would be asked of the cluster is kept, so that a recipe's settings are seen.
    """

    asked = ()

    def __init__(self, **settings):
        type(self).asked = settings
        super().__init__(
            n_workers=settings.get("n_workers", 0) and 2,
            threads_per_worker=settings.get("cores", 1),
            processes=True,
            dashboard_address=":0",
        )

    def scale(self, n=0, jobs=0):
        return super().scale(min(2, jobs or n))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "recordings").mkdir()
    for recording in RECORDINGS:
        write_recording(recording, tmp_path / "recordings" / f"{recording.name}.npz")
    return tmp_path


@pytest.mark.parametrize("kind", ["SLURMCluster", "KubeCluster"])
def test_the_recipes_of_the_page_run_with_workers_of_this_machine(kind, folder, monkeypatch):
    """As they are written, but for the number of workers and the folder."""
    blocks = re.findall(r"```text\n(.*?)```", (DOCS / "scaling.md").read_text(), flags=re.S)
    (recipe,) = (block for block in blocks if f"{kind}(" in block)
    for name in ("dask_jobqueue", "dask_kubernetes", "dask_kubernetes.operator"):
        module = types.ModuleType(name)
        module.SLURMCluster = module.KubeCluster = OfThisMachine
        monkeypatch.setitem(sys.modules, name, module)
    recipe = recipe.replace("/shared", str(folder)).replace("for_workers(32)", "for_workers(2)")
    if "learner.fit" not in recipe:
        recipe += "learner = MetricLearner(metric='diagonal', backend='dask')\n"
        recipe += f"learner.fit(RecordingFiles({str(folder / 'recordings')!r}))\n"
    names = {
        "MetricLearner": MetricLearner,
        "RecordingFiles": RecordingFiles,
        "Client": distributed.Client,
    }
    try:
        exec(recipe, names)
    finally:
        for opened in ("client", "cluster"):
            if opened in names:
                names[opened].close()
    expected = MetricLearner(metric="diagonal").fit(XS, YS)
    assert np.array_equal(names["learner"].metric_.factor, expected.metric_.factor)
    assert OfThisMachine.asked
