"""What the commands do with images: learning to cut them, and models that can."""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from structsvm.cli.cut_labels import named_images, with_counts
from structsvm.cli.outputs import check_output, check_outputs, within
from structsvm.cli.settings import problem_with
from structsvm.cli.terminal import Terminal
from structsvm.datasets.image_folder import (
    MASK,
    LabelledImage,
    find_images,
    images_and_labels,
    read_images,
)
from structsvm.errors import DataError, SettingsError, printable
from structsvm.graph_cuts.evaluation import evaluate_cuts
from structsvm.graph_cuts.learner import CutLearner
from structsvm.graphs.graph import FeatureGraph
from structsvm.partitions.traits import GRAPHS
from structsvm.persistence import save
from structsvm.plotting.cuts import overlay, plot_cut
from structsvm.problems.normalized_cut import NormalizedCut
from structsvm.status import Status
from structsvm.storage.atomic import write_atomically
from structsvm.support.extras import require
from structsvm.support.interrupts import Interrupts
from structsvm.support.plain import finite
from structsvm.support.progress import share, stage

__all__ = ["describe", "draw", "evaluate", "fit", "predict", "read_to_judge", "show"]

INTERRUPTED = 130
NOT_FOR_CUTS = (
    "regularizer", "standardize", "slack", "master", "jobs", "backend", "checkpoint", "penalty",
    "n_segments", "label_column", "time_column", "recording_column", "labels_are", "regions",
    "chunk_column", "missing_label",
)  # fmt: skip
"""Options of fit that have no meaning here."""

SUPERPIXELS_MADE, PIXELS_MADE = 0.85, 0.05
"""What part of the time of an evaluation is gone when the images are graphs."""

SOLVERS = {"auto": "quasi-newton", "quasi-newton": "quasi-newton", "cccp": "cccp"}


def fit(args: argparse.Namespace, terminal: Terminal, usual: argparse.ArgumentParser) -> int:
    """Learn from images with label maps, save, and say what came of it."""
    given = [name for name in NOT_FOR_CUTS if getattr(args, name) != usual.get_default(name)]
    if given:
        option = given[0].replace("n_segments", "known_segments").replace("_", "-")
        raise SettingsError(f"--{option} is not for normalized-cut: leave it out")
    if args.solver not in SOLVERS:
        raise SettingsError(
            f"--solver {args.solver} is not for normalized-cut: it has {', '.join(SOLVERS)}"
        )
    margin = {} if args.margin is None else {"margin": args.margin}
    settings = {**margin, **dict(args.set)}
    problem = problem_with(args.problem, settings)
    assert isinstance(problem, NormalizedCut)
    found = _read(args, terminal, need_labels=True)
    images, labels = images_and_labels(found)
    problem = with_counts(problem, settings, labels, terminal)
    learner = CutLearner(
        problem,
        args.metric,
        "cv" if args.lam is None else args.lam,
        solver=SOLVERS[args.solver],
        tol=1e-3 if args.tol is None else args.tol,
        max_iter=args.max_iter,
    )
    with named_images(found):
        _learn(learner, images, labels, terminal, args.output)
    interrupted = learner.solution_.status is Status.INTERRUPTED
    if interrupted:
        terminal.warn(f"interrupted: the best metric so far is saved in {args.output}")
    data = learner.training_data_
    terminal.note(
        f"learned from {len(data)} images, {sum(data.n_samples)} nodes in all, "
        f"lam {learner.lam_:g}\n{learner.solution_.summary()}\n"
        f"saved in {args.output}; on images it was not learned from, try\n"
        f"  structsvm evaluate {args.output} PATH"
    )
    if terminal.as_json:
        terminal.report(describe(learner, args.output))
    return INTERRUPTED if interrupted else 0


def predict(args: argparse.Namespace, terminal: Terminal, learner: CutLearner) -> int:
    """Cut images; write label maps and overlays."""
    one_file = args.output is not None and args.output.suffix.lower() in (".png", ".npy")
    if one_file:
        check_output(args, args.output)
    elif args.output is not None:
        files = find_images(args.paths)
        places = (
            place
            for file in files
            for place in _places(args.output, printable(file.stem), args.maps)
        )
        check_outputs(args, places)
    images = _read(args, terminal, need_labels=False)
    if one_file and len(images) > 1:
        raise SettingsError(f"{args.output} is one file for {len(images)} images: name a folder")
    plain, lines, maps = [], [], []
    with terminal.working("cutting"):
        for image in stage("images", images):
            with named_images([image]):
                labels = learner.predict(image.image, args.n_segments)[0]
            shares = np.bincount(labels.ravel()) / labels.size
            plain.append({"name": image.name, "n_clusters": shares.size, "shares": shares.tolist()})
            shown = ", ".join(f"{share:.0%}" for share in shares)
            clusters = GRAPHS.parts(shares.size)
            lines.append(f"{image.name}: {clusters} of {shown} of the pixels")
            maps.append(labels)
    if args.output is not None:
        with Interrupts():  # all the files or none
            for image, labels in zip(images, maps, strict=True):
                if one_file:
                    write_atomically(args.output, _encoded(labels, args.output.suffix.lower()))
                else:
                    _write(args.output, image, labels, args.maps)
        written = "1 label map is" if len(images) == 1 else f"{len(images)} label maps are"
        terminal.note(f"{written} in {args.output}")
    terminal.report({"images": plain}, *(lines if args.output is None else ()))
    return 0


def evaluate(args: argparse.Namespace, terminal: Terminal, learner: CutLearner) -> int:
    """Compare, and print the table and the verdict."""
    found = _read(args, terminal, need_labels=True)
    images, labels = images_and_labels(found)
    made = PIXELS_MADE if learner.problem_.nodes == "pixels" else SUPERPIXELS_MADE
    with terminal.working("cutting"):
        graphs: list[FeatureGraph] = []
        with share("making graphs", 0.0, made):
            for image in stage("images", found):
                with named_images([image]):
                    graphs += learner.graphs(image.image)
        names = [image.name for image in found]
        with share("cutting", made, 1.0):
            result = evaluate_cuts(learner, graphs, labels, args.n_segments, names=names)
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("metric", "loss", result.jaccard_in_words, "adjusted Rand"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for name, scores in result.scores.items():
        numbers = (scores.loss, scores.jaccard, scores.adjusted_rand)
        values = ("-" if value is None else f"{value:.3f}" for value in numbers)
        table.add_row(name, *values, style="bold" if name == "learned" else None)
    n = "1 image" if len(images) == 1 else f"mean of {len(images)} images"
    about = f"{n} (perfect: loss and distance 0, adjusted Rand 1)"
    terminal.report(result.to_dict(), about, table, str(result.verdict))
    return 0


def read_to_judge(
    args: argparse.Namespace, terminal: Terminal
) -> tuple[list[str], list[Any], list[Any]]:
    """Names, pixels and label maps of the images of ``args.paths``, to judge a model by."""
    images = _read(args, terminal, need_labels=True)
    return [image.name for image in images], *images_and_labels(images)


def show(args: argparse.Namespace, terminal: Terminal, learner: CutLearner) -> int:
    """What the model is, and what it looks at."""
    plain = describe(learner, args.model)
    solution, data = learner.solution_, learner.training_data_
    facts = Table.grid(padding=(0, 2))
    settings = ", ".join(f"{k} {v}" for k, v in asdict(learner.problem_).items())
    cv = ", ".join(f"{lam}: {loss:.3g}" for lam, loss in learner.cv_losses_.items())
    rows = {
        "problem": f"normalized-cut ({settings})",
        "metric": f"{learner.metric}, {learner.n_features_in_} features",
        "lam": f"{learner.lam_:g}" + (f" (held-out losses {cv})" if cv else ""),
        "learned on": f"{len(data)} graphs, {sum(data.n_samples)} nodes and "
        f"{sum(data.n_clusters)} clusters in all",
        "status": solution.summary(),
    }
    for name, value in rows.items():
        facts.add_row(name, value)
    weights = Table(box=box.SIMPLE_HEAD)
    for column in ("feature", "weight, at the start 1"):
        weights.add_column(column)
    for row in plain["weights"][: args.top]:
        weights.add_row(row["feature"], f"{row['weight']:.3g}")
    terminal.report(plain, facts, weights)
    return 0


def draw(args: argparse.Namespace, learner: CutLearner, figure: Any, terminal: Terminal) -> None:
    """One image with its parts."""
    args.paths = [args.paths]
    found = _read(args, terminal, need_labels=False)
    if len(found) > 1:
        raise DataError(f"{args.paths[0]} holds {len(found)} images: name one file")
    (image,) = found
    K = args.n_segments
    if K == "true":
        if image.labels is None:
            raise SettingsError("--n-clusters true needs the true labels: give --masks")
        K = int(np.unique(image.labels).size)
    with named_images([image]):
        (labels,) = learner.predict(image.image, K)
    panels: dict[str, Any] = {image.name: None, "learned": labels}
    if image.labels is not None:
        panels["truth"] = image.labels
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, parts) in zip(axes, panels.items(), strict=True):
        plot_cut(image.image, parts, ax=ax)
        ax.set_title(title, loc="left")


def describe(learner: CutLearner, path: Path) -> dict[str, Any]:
    """A model in plain values; the features by decreasing weight."""
    solution, data = learner.solution_, learner.training_data_
    weights, names = learner.feature_weights(), learner.feature_names_in_
    return {
        "model": str(path),
        "problem": {"name": "normalized-cut", "settings": asdict(learner.problem_)},
        "metric": learner.metric,
        "lam": learner.lam_,
        "cv_losses": learner.cv_losses_,
        "n_features": learner.n_features_in_,
        "weights": [
            {"feature": names[j], "weight": float(weights[j])}
            for j in np.argsort(-weights, kind="stable")
        ],
        "threshold": learner.threshold_,
        "training_data": {
            "n_graphs": len(data),
            "n_nodes": list(data.n_samples),
            "n_clusters": list(data.n_clusters),
        },
        "solution": finite(
            {
                "status": solution.status.name,
                "meaning": solution.status.value,
                "objective": solution.objective,
                "start": solution.start,
                "stationarity": solution.stationarity,
                "n_iter": solution.n_iter,
                "evaluations": solution.evaluations,
                "seconds": solution.seconds,
            }
        ),
    }


def _read(
    args: argparse.Namespace, terminal: Terminal, *, need_labels: bool
) -> list[LabelledImage]:
    with terminal.working("reading images"):
        return read_images(args.paths, args.masks, need_labels=need_labels)


def _learn(
    learner: CutLearner,
    images: Sequence[Any],
    labels: Sequence[Any],
    terminal: Terminal,
    output: Path,
) -> None:
    """Fit and save, showing how far it has come, and tune the grid to compare with."""
    with Interrupts() as interrupts:  # from the metric to its file nothing may get lost
        with interrupts.released(), terminal.working("learning"):
            learner.fit(images, labels)
        save(learner, output)
        try:
            with (
                interrupts.released(),
                terminal.working("tuning a grid to compare with (Ctrl-C skips this)"),
            ):
                learner.fit_baselines(images, labels)
        except KeyboardInterrupt:
            terminal.warn("interrupted: the grid will be missing from evaluations")
        save(learner, output)
        interrupts.taken()  # all is done


def _write(folder: Path, image: LabelledImage, labels: Any, maps: str) -> None:
    """The label map and the overlay."""
    folder.mkdir(parents=True, exist_ok=True)
    label_map, marked = _places(folder, image.name, maps)
    write_atomically(label_map, _encoded(labels, f".{maps}"))
    write_atomically(marked, _png(overlay(image.image, labels)))


def _places(folder: Path, name: str, maps: str) -> tuple[Path, Path]:
    """NAME_mask.png or NAME_mask.npy, and NAME_overlay.png: never the name of the image."""
    return within(folder, f"{name}{MASK}.{maps}"), within(folder, f"{name}_overlay.png")


def _encoded(labels: Any, kind: str) -> bytes:
    """A label map: 0, 1, ... in .npy, spread over the greys in .png so that they can be seen."""
    if kind == ".png":
        most = max(int(labels.max()), 1)
        if most > 255:
            return _png(labels.astype(np.uint16))
        return _png((labels * (255 // most)).astype(np.uint8))
    buffer = io.BytesIO()
    np.save(buffer, labels, allow_pickle=False)
    return buffer.getvalue()


def _png(pixels: Any) -> bytes:
    buffer = io.BytesIO()
    pillow = require("PIL.Image", "images", "writing images")
    pillow.fromarray(pixels).save(buffer, format="png")
    return buffer.getvalue()
