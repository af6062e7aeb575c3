"""The same work by libraries that segment, learn metrics, classify or cut: rows of docs/results.md.

Each function of :data:`STUDIES` gives rows; what needs a library that is not installed is left out,
and the table of libraries says why.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from _peers_network import segmented
from numpy.typing import NDArray

from structsvm import EquivalenceMatrix, MetricLearner, NormalizedCut, interop
from structsvm.baselines import FrameClassifier
from structsvm.datasets import fetch_har_spsw, relevant_changes
from structsvm.io import Recording, arrays_and_labels
from structsvm.learner.preparing import prepare
from structsvm.learner.steps import decode_with
from structsvm.oracles import SequentialOracle
from structsvm.partitions import TraceObjective
from structsvm.partitions.losses import covering, margin_f1, partition_loss

Floats = NDArray[np.float64]
Ends = list[int]
Row = Mapping[str, Any]

LIBRARIES = {
    "dlib": "dlib",
    "PyStruct": "pystruct",
    "ruptures": "ruptures",
    "skchange": "skchange",
    "claspy": "claspy",
    "metric-learn": "metric_learn",
    "scikit-learn": "sklearn",
    "scikit-image": "skimage",
    "torch": "torch",
}
"""Those we compare with, by the module that is imported."""


def installed() -> dict[str, str | None]:
    """Why a library cannot be used here; None if it can."""
    found: dict[str, str | None] = {}
    for name, module in LIBRARIES.items():
        try:
            import_module(module)
            found[name] = None
        except Exception as error:  # an old library fails in many ways
            found[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return found


def libraries(found: Mapping[str, str | None], versions: Mapping[str, str]) -> list[Row]:
    """Which version of each was run, or why none was."""
    rows = []
    for name, reason in found.items():
        try:
            told = versions.get(name) or version(name)
        except PackageNotFoundError:
            told = "-"
        rows.append({"library": name, "version": told, "run": "yes" if reason is None else reason})
    return rows


# ---- decoding


def decoding(found: Mapping[str, str | None]) -> list[Row]:
    """Penalized segmentation of one signal: CPU time, and how far above the optimum."""
    rows: list[Row] = []
    for T in (1000, 10_000):
        (recording,) = relevant_changes(1, n_samples=T, n_features=10, n_relevant=5, random_state=0)
        Z = recording.X - recording.X.mean(axis=0)
        pen = 4.0 * Z.shape[1]
        methods = {name: run for name, run in _decoders(T).items() if found.get(name[0]) is None}
        answers = {}
        for name, run in methods.items():
            run(Z, pen)  # compiles what is compiled on first use
            started = time.process_time()
            ends = run(Z, pen)
            answers[name] = (_cost(Z, ends) + pen * len(ends), time.process_time() - started)
        best = min(cost for cost, _ in answers.values())
        for (library, method), (cost, seconds) in answers.items():
            rows.append(
                {
                    "library": library,
                    "method": method,
                    "T": T,
                    "above the optimum": f"{max(0.0, cost / best - 1):.1%}",
                    "CPU milliseconds": f"{1000 * seconds:.1f}",
                }
            )
    return rows


def _decoders(T: int) -> dict[tuple[str, str], Callable[[Floats, float], Ends]]:
    def ours(Z: Floats, pen: float) -> Ends:
        return SequentialOracle().ask(TraceObjective(Z, shift=-pen)).y.breakpoints

    def ruptures(name: str, Z: Floats, pen: float, **settings: Any) -> Ends:
        detection = import_module("ruptures.detection")
        found: Ends = getattr(detection, name)(**settings).fit(Z).predict(pen=pen)
        return found

    def pelt(Z: Floats, pen: float) -> Ends:
        cost = import_module("skchange.interval_scorers").L2Cost()
        detector = import_module("skchange.detectors").PELT(cost, penalty=pen)
        return [*map(int, detector.fit(Z).predict(Z)), len(Z)]

    found: dict[tuple[str, str], Callable[[Floats, float], Ends]] = {
        ("structsvm", "SequentialOracle"): ours,
        ("ruptures", "KernelCPD, min_size 1"): partial(
            ruptures, "KernelCPD", kernel="linear", min_size=1
        ),
        ("ruptures", "Binseg, jump 5"): partial(ruptures, "Binseg", model="l2"),
        ("skchange", "PELT, L2Cost"): pelt,
    }
    if T <= 1000:  # takes minutes beyond
        found["ruptures", "Pelt, jump 5"] = partial(ruptures, "Pelt", model="l2")
    return found


def _cost(Z: Floats, ends: Sequence[int]) -> float:
    parts = np.split(Z, list(ends)[:-1])
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


# ---- held-out recordings


def held_out(
    found: Mapping[str, str | None], data: Path, keep: Callable[[str, Callable[[], Row]], Row]
) -> list[Row]:
    """Activities of ten people to learn from, of five others to test on.

    ``keep`` has the row of a method that an earlier run has measured, or measures it.
    """
    return [
        keep(f"{library}: {method}", partial(_held_out, data, (library, method, needs)))
        for library, method, needs in METHODS
        if found.get(library) is None
    ]


def _held_out(data: Path, name: tuple[str, str, str]) -> Row:
    recordings = fetch_har_spsw(range(1, 16), data_home=data)
    learn = [r for r in recordings if r.name <= "s10_99"]
    test = [r for r in recordings if r.name > "s10_99"]
    truths = [EquivalenceMatrix.from_breakpoints(interop.labels_to_breakpoints(r.y)) for r in test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        METHODS[name](learn[::5], test[:2])  # what is compiled or loaded at first is not measured
        started = time.process_time()
        guesses = [EquivalenceMatrix.from_breakpoints(e) for e in METHODS[name](learn, test)]
    seconds = time.process_time() - started
    pairs = list(zip(truths, guesses, strict=True))
    return {
        "library": name[0],
        "method": name[1],
        "learns from": name[2],
        "loss": float(np.mean([partition_loss(t, g) for t, g in pairs])),
        "covering": float(np.mean([covering(t, g) for t, g in pairs])),
        "F1": float(np.mean([margin_f1(t, g, count_start=True) for t, g in pairs])),
        "CPU seconds": f"{seconds:.1f}",
    }


def _zscored(X: Floats) -> Floats:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def _ours(kind: str, learn: Sequence[Recording], test: Sequence[Recording]) -> list[Ends]:
    metric = "full" if kind == "untrained" else kind
    learner = MetricLearner(metric=metric).fit(*arrays_and_labels(learn))
    use = learner.baselines_["untrained"].metric_ if kind == "untrained" else learner.metric_
    return [M.breakpoints for M in decode_with(learner, use, [r.X for r in test])]


def _priced(
    detect: Callable[[Floats, float], Ends],
    transform: Callable[[Floats], Floats],
    learn: Sequence[Recording],
    test: Sequence[Recording],
) -> list[Ends]:
    """Segment with the penalty that is best on the recordings to learn from."""
    Zs = [transform(r.X) for r in learn]
    truths = [EquivalenceMatrix.from_breakpoints(interop.labels_to_breakpoints(r.y)) for r in learn]
    scale = float(np.mean([(Z**2).sum() for Z in Zs]))
    means = {}
    for pen in scale * np.geomspace(1e-3, 1.0, 25):
        guesses = [EquivalenceMatrix.from_breakpoints(detect(Z, pen)) for Z in Zs]
        means[pen] = np.mean([partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)])
    best = min(means, key=lambda pen: means[pen])
    return [detect(transform(r.X), best) for r in test]


def _kernel(Z: Floats, pen: float) -> Ends:
    detector = import_module("ruptures.detection").KernelCPD(kernel="linear", min_size=1)
    return [int(end) for end in detector.fit(np.ascontiguousarray(Z)).predict(pen=pen)]


def _ruptures(learn: Sequence[Recording], test: Sequence[Recording]) -> list[Ends]:
    return _priced(_kernel, _zscored, learn, test)


def _skchange(learn: Sequence[Recording], test: Sequence[Recording]) -> list[Ends]:
    return _priced(_decoders(0)["skchange", "PELT, L2Cost"], _zscored, learn, test)


def _rca(learn: Sequence[Recording], test: Sequence[Recording]) -> list[Ends]:
    """RCA of metric-learn, a chunk for each labelled segment, then ruptures."""
    X = np.vstack([_zscored(r.X) for r in learn])
    sizes = np.concatenate([np.diff([0, *interop.labels_to_breakpoints(r.y)]) for r in learn])
    fitted = import_module("metric_learn").RCA().fit(X, np.repeat(np.arange(sizes.size), sizes))
    return _priced(_kernel, lambda X: fitted.transform(_zscored(X)), learn, test)


def _clasp(_: Sequence[Recording], test: Sequence[Recording]) -> list[Ends]:
    clasp = import_module("claspy.segmentation").BinaryClaSPSegmentation
    ends = []
    for r in test:
        found = clasp(n_jobs=1).fit_predict(_zscored(r.X))
        ends.append([*sorted(int(change) for change in found), len(r.X)])
    return ends


def _samples(learn: Sequence[Recording], test: Sequence[Recording]) -> list[Ends]:
    """Boosting names each sample; the most frequent name within half a second on either side."""
    boosting = import_module("sklearn.ensemble").HistGradientBoostingClassifier(random_state=0)
    boosting.fit(np.vstack([_zscored(r.X) for r in learn]), np.concatenate([r.y for r in learn]))
    ends = []
    for r in test:
        one_hot = boosting.predict(_zscored(r.X))[:, None] == boosting.classes_
        votes = np.apply_along_axis(np.convolve, 0, one_hot.astype(float), np.ones(11), "same")
        ends.append(interop.labels_to_breakpoints(votes.argmax(axis=1)))
    return ends


def _viterbi(learn: Sequence[Recording], test: Sequence[Recording]) -> list[Ends]:
    model = FrameClassifier().fit(*arrays_and_labels(learn), groups=[r.name[:3] for r in learn])
    return model.predict_breakpoints([r.X for r in test])


Segmenter = Callable[[Sequence[Recording], Sequence[Recording]], list[Ends]]
CHANGES, STATES = "change points", "names of states"

METHODS: dict[tuple[str, str, str], Segmenter] = {
    ("structsvm", "learned metric, full", CHANGES): partial(_ours, "full"),
    ("structsvm", "learned metric, diagonal", CHANGES): partial(_ours, "diagonal"),
    ("structsvm", "OLDA, best penalty", CHANGES): partial(_ours, "olda"),
    ("structsvm", "untrained metric, best penalty", CHANGES): partial(_ours, "untrained"),
    ("ruptures", "KernelCPD, best penalty", CHANGES): _ruptures,
    ("skchange", "PELT, best penalty", CHANGES): _skchange,
    ("metric-learn", "RCA, then KernelCPD, best penalty", CHANGES): _rca,
    ("claspy", "ClaSP on all channels", "nothing"): _clasp,
    ("scikit-learn", "boosting of samples, majority of 1 s", STATES): _samples,
    ("scikit-learn", "the same on our lags, with our Viterbi", STATES): _viterbi,
    ("torch", "temporal convolutional net, with our Viterbi", STATES): segmented,
}
"""Library, what of it, and what it learns from."""


# ---- cuts


def cuts(found: Mapping[str, str | None]) -> list[Row]:
    """Two halves of small images, of whose channels one is informative; four images to learn."""
    if found["scikit-image"] is not None:
        return []
    graph = import_module("skimage.graph")
    rng = np.random.default_rng(0)
    sides = np.repeat([0, 1], 12) * np.ones((24, 1), dtype=int)
    regions = np.arange(36).reshape(6, 6).repeat(4, axis=0).repeat(4, axis=1)
    nodes = {int(n): int(sides[regions == n][0]) for n in np.unique(regions)}

    def image() -> Floats:
        drawn = np.clip(rng.normal(0.5, 0.05, (24, 24, 3)), 0, 1)
        drawn[..., 0] += 0.3 * sides
        drawn[..., 2] *= np.kron(rng.uniform(size=(6, 6)), np.ones((4, 4)))
        return np.asarray(drawn)

    learn, test = ([graph.rag_mean_color(image(), regions) for _ in range(n)] for n in (4, 30))
    cutter = MetricLearner(NormalizedCut()).fit(learn, [nodes] * 4)
    truth = EquivalenceMatrix.from_labels(list(nodes.values()))

    def by_skimage(weighted: Any, thresh: float) -> EquivalenceMatrix:
        labels = graph.cut_normalized(regions, weighted, thresh=thresh, in_place=False, rng=0)
        return EquivalenceMatrix.from_labels([int(labels[regions == n][0]) for n in nodes])

    def best_thresh(weigh: Callable[[Any], Any]) -> tuple[float, float]:
        """Mean loss on the images to learn from, and the threshold that has it."""
        return min(
            (float(np.mean([partition_loss(truth, by_skimage(weigh(g), h)) for g in learn])), h)
            for h in (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.8)
        )

    def tuned(weighs: Sequence[Callable[[Any], Any]]) -> Callable[[Any], EquivalenceMatrix]:
        """The best of several similarities, with its threshold."""
        (_, thresh), weigh = min(((best_thresh(w), w) for w in weighs), key=lambda pair: pair[0])
        return lambda g: by_skimage(weigh(g), thresh)

    ways: dict[tuple[str, str], Callable[[Any], EquivalenceMatrix]] = {
        ("scikit-image", "cut_normalized, best scale of colour and threshold"): tuned(
            [partial(_by_colour, sigma) for sigma in (0.05, 0.1, 0.2, 0.4)]
        ),
        ("scikit-image", "cut_normalized, our learned similarity, best threshold"): tuned(
            [partial(interop.weighted_graph, cutter)]
        ),
        ("structsvm", "untrained similarity, two parts"): partial(_cut, cutter, "untrained"),
        ("structsvm", "learned similarity, two parts"): partial(_cut, cutter, "learned"),
    }
    rows = []
    for (library, method), cut in ways.items():
        guesses = [cut(rag) for rag in test]
        rows.append(
            {
                "library": library,
                "method": method,
                "loss": float(np.mean([partition_loss(truth, guess) for guess in guesses])),
                "parts": float(np.mean([guess.n_clusters for guess in guesses])),
                "images": len(test),
            }
        )
    return rows


def _by_colour(sigma: float, rag: Any) -> Any:
    """Weights ``exp(-d^2 / sigma^2)`` of the distance of mean colours."""
    copied = rag.copy()
    for a, b in copied.edges:
        colours = (copied.nodes[a]["mean color"], copied.nodes[b]["mean color"])
        away = float(np.linalg.norm(np.subtract(*colours)))
        copied.edges[a, b]["weight"] = float(np.exp(-(away**2) / sigma**2))
    return copied


def _cut(cutter: MetricLearner, use: str, rag: Any) -> EquivalenceMatrix:
    metric = cutter.metric_ if use == "learned" else cutter.baselines_[use]
    return decode_with(cutter, metric, prepare(cutter, [rag]), [2])[0]
