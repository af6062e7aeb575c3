"""Stretches of time in JSON: by the name of the recording, as a list, or within other objects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any

from structsvm.errors import DataError
from structsvm.io.label_file import WHOSE, LabelFile, columns_in, name_of, unit_of
from structsvm.io.label_rows import Interval, is_moment, moment
from structsvm.io.label_tables import after
from structsvm.support import listed, spelled

WINDOW_LABEL = "window"  # the label of stretches that have none
CONTAINERS = ("annotations", "database", "data", "events", "items", "labels", "results", "segments")
"""Keys that name no recording."""
SPANS = ("segment", "interval", "window", "span")  # names of fields with a pair of start and end


def stretches_in(file: LabelFile) -> Iterator[Interval]:
    """All stretches of a document, and rows without times that name recordings without any."""
    document = file.document
    if isinstance(document, Mapping) and {"file", "metadata"} <= document.keys():
        return _of_via(document)
    if isinstance(document, Mapping) and _are_changes(list(document.values())):
        return chain.from_iterable(_changes(name, at) for name, at in document.items())
    return _below(document, (), file)


def _are_changes(lists: Sequence[Any]) -> bool:
    """Whether these are lists of rising numbers, which are not all pairs of a start and an end."""
    if not all(isinstance(one, list) for one in lists) or all(len(one) == 2 for one in lists):
        return False
    numbers = chain.from_iterable(lists)
    are_numbers = any(lists) and all(isinstance(at, int | float) for at in numbers)
    return are_numbers and all(one == sorted({*one}) for one in lists)


def _changes(name: str, moments: Sequence[Any]) -> Iterator[Interval]:
    for at in moments:
        yield Interval(moment(0, str(at)), moment(0, str(at)), "", name)


def _below(node: Any, path: tuple[str, ...], file: LabelFile) -> Iterator[Interval]:
    """The stretches within a part of a document, which stands below the keys ``path``."""
    if isinstance(node, Mapping):
        if (one := _stretch(node, file)) and not _holds_stretches(node, file):
            yield one if one.recording else replace(one, recording=_recording(path, file))
            return
        for key, inner in node.items():
            yield from _below(inner, (*path, str(key)), file)
    elif isinstance(node, list):
        name = _recording(path, file)
        if _is_span(node) and len(path) == 1:  # the only stretch of a recording
            node = [node]
        if len(path) == 1 and all(map(_is_span, node)):
            yield Interval(None, None, WINDOW_LABEL if node else "", name)
            for start, end in node:
                yield Interval(moment(0, str(start)), moment(0, str(end)), WINDOW_LABEL, name)
            return
        if _is_labelled_span(node):
            start, end, label = node
            yield Interval(moment(0, str(start)), moment(0, str(end)), label, name)
            return
        for inner in node:
            yield from _below(inner, path, file)


def _holds_stretches(node: Mapping[str, Any], file: LabelFile) -> bool:
    """Whether stretches are listed within an object, which tells what they cover, as in JAMS."""
    listed_below = chain.from_iterable(x for x in node.values() if isinstance(x, list))
    return any(_stretch(x, file) for x in listed_below if isinstance(x, Mapping))


def _recording(path: Sequence[str], file: LabelFile) -> str | None:
    """The name of the recording among keys: that of a known one, or else the first name."""
    names = [key for key in path if key.lower() not in CONTAINERS]
    known = [key for key in names if not file.recordings.isdisjoint((spelled(name_of(key)), key))]
    return next(iter(known or names), None)


def _stretch(node: Mapping[str, Any], file: LabelFile) -> Interval | None:
    """Read an object as a stretch; None if it has no start and end."""
    plain = {str(k): v for k, v in node.items() if isinstance(v, str | int | float)}
    columns = {**columns_in(list(plain)), **file.columns}
    first = columns.get("start") or (columns.get("change") if "duration" in columns else None)
    span = next((node[key] for key in SPANS if key in node and _is_span(node[key])), None)
    if span is None and (first not in plain or columns.get("end") not in plain):
        return None
    if span is not None:
        start, end = (moment(0, str(at)) for at in span)
    else:
        start = moment(0, str(plain[str(first)]), unit_of(str(first)))
        end = moment(0, str(plain[columns["end"]]), unit_of(columns["end"]))
        if columns["end"] == columns.get("duration"):
            end = after(start, end, 0)
    name = str(plain[columns["recording"]]) if "recording" in columns else None
    who = {
        kind: str(plain[field])
        for (kind, names), field in product(WHOSE.items(), plain)
        if field.lower() in names
    }
    return Interval(start, end, _label(node, columns), name, who)


def _label(node: Mapping[str, Any], columns: Mapping[str, str]) -> str:
    """The label of an object, perhaps in a list of one; ``WINDOW_LABEL`` if it has none."""
    if "label" in columns:
        return str(node[columns["label"]])
    lists = {name: v for name, v in node.items() if isinstance(v, list) and "label" in name}
    for name, labels in lists.items():
        if len(labels) > 1:
            several = listed(list(map(str, labels)))
            raise DataError(f"a stretch has the {name} {several}: a sample has one label")
        if labels:
            return str(labels[0])
    return WINDOW_LABEL


def _of_via(document: Mapping[str, Any]) -> Iterator[Interval]:
    """The temporal segments of a project of VIA, labelled by their first attribute."""
    files = {key: one["fname"] for key, one in document["file"].items()}
    views = document.get("view", {})
    attributes = document.get("attribute", {})
    for one in document["metadata"].values():
        if not _is_span(one.get("z")):
            continue
        (fid, *_) = views.get(one["vid"], {}).get("fid_list") or [one["vid"]]
        (name, value) = next(iter(one["av"].items()), ("", WINDOW_LABEL))
        label = attributes.get(name, {}).get("options", {}).get(value, value)
        start, end = (moment(0, str(at)) for at in one["z"])
        yield Interval(start, end, str(label), files.get(str(fid), str(fid)))


def _is_labelled_span(node: Sequence[Any]) -> bool:
    """Whether a list is a start, an end and a label in words."""
    is_word = len(node) == 3 and isinstance(node[2], str) and not is_moment(node[2])
    return is_word and _is_span(list(node[:2]))


def _is_span(node: Any) -> bool:
    """Whether this is a pair of moments."""
    is_pair = isinstance(node, list) and len(node) == 2
    return is_pair and all(isinstance(x, str | int | float) and is_moment(str(x)) for x in node)
