"""Names that belong together, because all differ in the same way: S1-eeg and S1-labels."""

import re
from collections.abc import Iterable, Sequence, Set
from itertools import takewhile

LETTERS = re.compile("[a-z]+")


def n_alike(*names: str) -> int:
    """The number of characters that all names begin with."""
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*names, strict=False))
    return sum(1 for _ in alike)


def paired_names(names: Sequence[str], others: Set[str]) -> dict[str, str]:
    """Each name with the other one that has its distinct part between other texts; or {}."""
    if not names:
        return {}
    several = [*names] if len(names) > 1 else [*names, ""]
    begin = n_alike(*several)
    end = n_alike(*(name[begin:][::-1] for name in several))
    parts = [name[begin : len(name) - end] for name in names]
    own_digits = _digits_beside(parts, names[0][:begin], names[0][len(names[0]) - end :])
    possible: set[tuple[str, ...]] = set()
    for other in others:
        for at in range(len(other) + 1):
            before = other[:at]
            after = other[at + len(parts[0]) :]
            if _digits_beside(parts, before, after) != own_digits:
                continue  # S1 and S2 are not S10 and S20
            if all(before + part + after in others for part in parts):
                possible.add(tuple(before + part + after for part in parts))
    return dict(zip(names, possible.pop(), strict=True)) if len(possible) == 1 else {}


def names_apart(names: Set[str], words: Iterable[str]) -> dict[str, str]:
    """Half of the names, each with the other one that has one of these words added; or {}."""
    shortest = min(names, key=len, default="")
    possible = []
    for other in names:
        before, own, after = other.partition(shortest)
        if not own or {*LETTERS.findall((before + " " + after).lower())}.isdisjoint(words):
            continue
        pairs = {name: before + name + after for name in names if before + name + after in names}
        if {*pairs}.isdisjoint(pairs.values()) and {*pairs, *pairs.values()} == names:
            possible.append(pairs)
    return possible[0] if len(possible) == 1 else {}


def _digits_beside(parts: Sequence[str], before: str, after: str) -> tuple[str, str]:
    """The digits, without leading zeros, that make longer numbers of parts between these texts."""
    left = re.search(r"\d*$", before)
    right = re.match(r"\d*", after)
    is_begun = any(part[:1].isdigit() for part in parts)
    is_ended = any(part[-1:].isdigit() for part in parts)
    return (
        left[0].lstrip("0") if left and is_begun else "",
        right[0] if right and is_ended else "",
    )
