"""A temporal convolutional net that names samples, a rival of docs/results.md: it needs torch.

Four residual blocks of dilated convolutions (Bai, Kolter and Koltun, 2018, not causal) see 31
samples on either side of each. Like our frame classifier it is cross-fitted by person, the price
of a change is the best on held-out people, and new recordings have the mean of all nets.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm import EquivalenceMatrix
from structsvm.baselines.frame_classifier import CHANGE_PRICES, best_path
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording
from structsvm.partitions.losses import partition_loss

Floats = NDArray[np.float64]
CHANNELS, DROPOUT, EPOCHS, RATE, BATCH, SMOOTHING = 32, 0.2, 60, 3e-3, 8, 0.02


def segmented(learn: Sequence[Recording], test: Sequence[Recording]) -> list[list[int]]:
    """Segment ends of the test recordings, their number being unknown."""
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    stacked = np.vstack([r.X for r in learn])
    mean = stacked.mean(axis=0)
    deviation = stacked.std(axis=0)

    def seen(r: Recording) -> Any:
        """Scaled over the training set, and within the recording, (2 P, T)."""
        X = np.asarray(r.X)
        both = [(X - mean) / deviation, (X - X.mean(axis=0)) / X.std(axis=0)]
        return torch.tensor(np.hstack(both).T, dtype=torch.float32)

    states, codes = np.unique(np.concatenate([r.y for r in learn]), return_inverse=True)
    targets = [torch.tensor(c) for c in np.split(codes, np.cumsum([len(r.y) for r in learn])[:-1])]
    inputs = [seen(r) for r in learn]
    people = [r.name[:3] for r in learn]
    fold = np.unique(people, return_inverse=True)[1] % 3
    nets = []
    held_out = [np.empty(0)] * len(learn)
    for k in range(4):  # the last one learns from all
        away = fold == k
        kept = np.flatnonzero(~away)
        net = _learned(torch, [inputs[i] for i in kept], [targets[i] for i in kept], len(states))
        nets.append(net)
        for i in np.flatnonzero(away):
            held_out[i] = _probabilities(torch, net, inputs[i])
    price = _best_price(held_out, learn)
    found = []
    for r in test:
        p = np.mean([_probabilities(torch, net, seen(r)) for net in nets], axis=0)
        found.append(labels_to_breakpoints(best_path(np.log(p + SMOOTHING), price)))
    return found


def _learned(torch: Any, inputs: Sequence[Any], targets: Sequence[Any], n_states: int) -> Any:
    """A net that names the samples of these recordings."""
    net = _net(torch, inputs[0].shape[0], n_states)
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE, weight_decay=1e-4)
    steps = EPOCHS * -(-len(inputs) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(inputs)).tolist()
        for begin in range(0, len(order), BATCH):
            some = order[begin : begin + BATCH]
            optimizer.zero_grad()
            cost = sum(
                torch.nn.functional.cross_entropy(net(inputs[i][None])[0].T, targets[i])
                for i in some
            )
            (cost / len(some)).backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def _net(torch: Any, n_features: int, n_states: int) -> Any:
    nn: Any = torch.nn

    class Block(nn.Module):  # type: ignore[misc]
        """Two dilated convolutions, added to what they see."""

        def __init__(self, dilation: int) -> None:
            super().__init__()
            layers: list[Any] = []
            for _ in range(2):
                layers += [nn.Conv1d(CHANNELS, CHANNELS, 3, padding=dilation, dilation=dilation)]
                layers += [nn.ReLU(), nn.Dropout(DROPOUT)]
            self.layers = nn.Sequential(*layers)

        def forward(self, X: Any) -> Any:
            return X + self.layers(X)

    blocks = [Block(dilation) for dilation in (1, 2, 4, 8)]
    first = nn.Conv1d(n_features, CHANNELS, 3, padding=1)
    last = nn.Conv1d(CHANNELS, n_states, 1)
    return nn.Sequential(first, *blocks, last)


def _probabilities(torch: Any, net: Any, seen: Any) -> Floats:
    with torch.no_grad():
        return np.asarray(torch.softmax(net(seen[None])[0].T, dim=1).numpy(), dtype=np.float64)


def _best_price(held_out: Sequence[Floats], learn: Sequence[Recording]) -> float:
    """The price of a change of least mean loss on recordings of people that a net has not seen."""
    truths = [EquivalenceMatrix.from_breakpoints(labels_to_breakpoints(r.y)) for r in learn]

    def loss(price: float) -> float:
        paths = [best_path(np.log(p + SMOOTHING), price) for p in held_out]
        guesses = [EquivalenceMatrix.from_breakpoints(labels_to_breakpoints(y)) for y in paths]
        return float(np.mean([partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)]))

    return min(map(float, CHANGE_PRICES), key=loss)
