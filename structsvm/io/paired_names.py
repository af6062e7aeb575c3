"""Names that belong together, because all differ in the same way: S1-eeg and S1-labels."""

from collections.abc import Sequence, Set
from itertools import takewhile


def n_alike(*names: str) -> int:
    """The number of characters that all names begin with."""
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*names, strict=False))
    return sum(1 for _ in alike)


def paired_names(names: Sequence[str], others: Set[str]) -> dict[str, str]:
    """Each name with the other one that has its distinct part between other texts; or {}."""
    several = [*names] if len(names) > 1 else [*names, ""]
    begin = n_alike(*several)
    end = n_alike(*(name[begin:][::-1] for name in several))
    parts = [name[begin : len(name) - end] for name in names]
    possible: set[tuple[str, ...]] = set()
    for other in others if names else ():
        for at in range(len(other) + 1):
            before = other[:at]
            after = other[at + len(parts[0]) :]
            if all(before + part + after in others for part in parts):
                possible.add(tuple(before + part + after for part in parts))
    return dict(zip(names, possible.pop(), strict=True)) if len(possible) == 1 else {}
