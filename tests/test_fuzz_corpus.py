"""Files from strangers: the cases that once found a fault, and a few new ones of the same kind.

`make fuzz` draws more of them, for as long as it is told.
"""

import io
import random

import numpy as np
import pytest
from fuzz_targets import TARGETS, checkpoint_bytes, file_of, kept, mutated

from structsvm.errors import CheckpointError
from structsvm.solvers.checkpoint import CHECKPOINT

FLIPS = 500
NEW = {
    "checkpoint": 15,
    "film": 15,
    "forged-checkpoint": 15,
    "forged-model": 60,
    "model": 60,
    "table": 40,
}
"""New cases of a target in `make test`; 100 of the others."""


@pytest.mark.parametrize("name", TARGETS)
def test_cases_that_were_found_once_stay_mended(name):
    target, seeds = TARGETS[name]
    for data in [*seeds(), *(path.read_bytes() for path in kept(name))]:
        target(data)


@pytest.mark.parametrize("name", TARGETS)
def test_new_cases_of_the_fuzzer_are_read_or_refused(name):
    target, seeds = TARGETS[name]
    known = [*seeds(), *(path.read_bytes() for path in kept(name))]
    chance = random.Random(0)
    for _ in range(NEW.get(name, 100)):
        target(mutated(chance.choice(known), chance))


def flipped(whole, number):
    """The same file with one bit changed, for each of some places."""
    rng = np.random.default_rng(number)
    for place in rng.integers(len(whole), size=FLIPS):
        data = bytearray(whole)
        data[place] ^= 1 << int(rng.integers(8))
        yield bytes(data)


def test_checkpoints_with_a_flipped_bit_are_refused_or_read_right():
    with np.load(io.BytesIO(checkpoint_bytes())) as archive:
        right = {name: archive[name].tobytes() for name in archive}
    refused = 0
    with file_of(b"", ".npz") as path:
        for data in flipped(checkpoint_bytes(), 1):
            path.write_bytes(data)
            try:
                _, arrays = CHECKPOINT.read(path)
            except CheckpointError:
                refused += 1
            else:
                assert all(array.tobytes() == right[name] for name, array in arrays.items())
    assert refused > FLIPS / 2
