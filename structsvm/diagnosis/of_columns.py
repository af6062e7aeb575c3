"""Columns that make a fit poor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from structsvm.data.constant import is_constant
from structsvm.diagnosis.examined import Examined
from structsvm.diagnosis.findings import Found
from structsvm.errors import parameter
from structsvm.learner.columns import codes_in
from structsvm.support.values import some_of

DOMINATES = 0.5  # a share of the squared distances, of one feature out of several,

TIMES = 10.0  # and how much larger it is than that of the median feature

SPIKY = 0.5  # a share of the variance of a feature that is due to its few largest values,

FEW_OF_VALUES = 5e-3  # and how many of the values are few

SAME_CORRELATION = 1 - 1e-4  # a correlation from which on two features say the same


def scale(examined: Examined) -> Found:
    """A feature that decides alone which partition is best, because of its unit."""
    inputs: Any = examined.learner.inputs_
    if inputs.features is not None and inputs.features.scaled:
        return
    squares = sum(((s.X - s.X.mean(axis=0)) ** 2).sum(axis=0) for s in examined.prepared)
    shares = np.asarray(squares) / max(float(np.sum(squares)), 1e-300)
    largest = int(shares.argmax())
    others = np.delete(shares, largest)
    others = others[others > 0]
    if not others.size or shares[largest] <= max(DOMINATES, TIMES * np.median(others)):
        return
    name = examined.learner.metric_feature_names_[largest]
    kind = inputs.standardizer.kind
    scaled = "not scaled" if kind is None else "scaled by " + parameter("standardize", kind)
    yield (
        f"feature {name} makes {100 * shares[largest]:.0f} % of the squared distances of the "
        f"untrained metric, {shares[largest] / np.median(others):.2g} times the median of the "
        "others: features are " + scaled + ", and the regularizer assumes features in one unit",
        "learn with "
        + parameter("standardize", "recording")
        + " (or 'training'), or give the feature in another unit",
        {"feature": name, "share": float(shares[largest]), "standardize": kind},
    )


def spikes(examined: Examined) -> Found:
    """Columns whose variance is that of a few values."""
    centred = np.vstack([X - np.median(X, axis=0) for X in examined.columns])
    n = int(np.ceil(FEW_OF_VALUES * len(centred)))
    if len(centred) < 2 * n or len(centred) < 100:
        return
    squares = np.sort(centred**2, axis=0)
    total = squares.sum(axis=0)
    top = squares[-n:].sum(axis=0)
    share = np.divide(top, total, out=np.zeros_like(top), where=total > 0)
    spiky = np.flatnonzero(share > SPIKY)
    if spiky.size:
        names = examined.column_names[spiky].tolist()
        yield (
            f"{n} of {len(centred)} {examined.words.item}s {'makes' if n == 1 else 'make'} most of "
            f"the variance of feature {some_of(names)}: standardised, all other values are small",
            "clip or interpolate the outliers, or use ranks or a robust transformation",
            {"shares": dict(zip(names, share[spiky].tolist(), strict=True))},
        )


def codes(examined: Examined) -> Found:
    """Numbers that stand for missing values: the same again and again, far from all others."""
    data = [instance.data for instance in examined.measured]
    names = examined.column_names.tolist()
    yield from codes_in(data, names, examined.words.item, examined.names.__getitem__)


def constant(examined: Examined) -> Found:
    """Columns that do not vary, in all instances or in many."""
    flat = np.array([is_constant(X) for X in examined.columns])
    N = len(flat)
    times = flat.sum(axis=0)
    often = np.flatnonzero(2 * times >= N)
    if often.size:
        counts = dict(
            zip(examined.column_names[often].tolist(), times[often].tolist(), strict=True)
        )
        said = [f"{name} in {n} of {examined.words.wholes(N)}" for name, n in counts.items()]
        yield (
            f"constant: feature {some_of(said)}",
            "check whether the sensor was off; what never varies has no influence",
            {"constant_in": counts},
        )


def copied_features(examined: Examined) -> Found:
    """Columns that say the same as others."""
    Z = np.vstack([StandardScaler().fit_transform(X) for X in examined.columns])
    with np.errstate(invalid="ignore"):  # of what is constant everywhere
        correlation = np.nan_to_num(np.atleast_2d(np.corrcoef(Z, rowvar=False)))
    pairs = examined.column_names[
        np.argwhere(np.triu(np.abs(correlation) > SAME_CORRELATION, 1))
    ].tolist()
    # two categories of one column cannot do otherwise
    pairs = [pair for pair in pairs if len({name.partition("=")[:2] for name in pair}) > 1]
    if pairs:
        yield (
            f"always move together: {some_of([' and '.join(pair) for pair in pairs])}; one may "
            "take the weight of both",
            "leave out one of each pair, or do not interpret which of them has the weight",
            {"pairs": pairs},
        )
