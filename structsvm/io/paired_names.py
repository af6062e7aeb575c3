"""Names that belong together, because all differ in the same way: S1-eeg and S1-labels."""

import re
from collections.abc import Iterable, Sequence, Set
from itertools import takewhile

LETTERS = re.compile("[a-z]+")
TOKEN = re.compile(r"[^\W\d_]+|\d+")


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


def named_by(keys: Set[tuple[str, ...]], names: Set[str]) -> dict[tuple[str, ...], str]:
    """Each key with the only name that holds its parts, as P01_S1 holds P01 and 1; or {}."""
    tokens = {name: _tokens(name) for name in names}
    found = {}
    for key in keys:
        parts = [_tokens(part) for part in key]
        holding = [name for name in names if _holds(tokens[name], parts)]
        # the name of a file without its folder is that of the same recording
        whole = [one for one in holding if not any(o.endswith("/" + one) for o in holding)]
        if len(whole) == 1:
            found[key] = whole[0]
    return found if len({*found.values()}) == len(keys) > 1 else {}


def _tokens(name: str) -> list[str]:
    """The words and numbers of a name, without capitals and leading zeros."""
    return [token.lower().lstrip("0") or "0" for token in TOKEN.findall(name)]


def _holds(tokens: Sequence[str], parts: Sequence[Sequence[str]]) -> bool:
    """Whether all parts stand among the tokens of a name, one after the other."""
    begin = 0
    for part in parts:
        n = len(part)
        at = next((k for k in range(begin, len(tokens) - n + 1) if tokens[k : k + n] == part), None)
        if at is None or not part:
            return False
        begin = at + n
    return True


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
