"""What try holds out of few recordings, and of those that are labelled in part."""

from dataclasses import replace

import numpy as np
import pytest

from structsvm import ChangePoint, Clustering, PartialLabels
from structsvm.cli.input_data import InputData
from structsvm.cli.parts import Part, about_parts, n_items, split_in_parts
from structsvm.cli.request import Request
from structsvm.cli.terminal import Terminal
from structsvm.cli.thinning import about_time, thinned
from structsvm.data.times import TimeAxis
from structsvm.errors import DataError
from structsvm.io import Recording
from structsvm.io.cleaning import in_windows
from structsvm.learner.training_set import TrainingSet


def part_of(recordings, groups=None):
    Xs = [r.X for r in recordings]
    ys = [r.y for r in recordings]
    data = TrainingSet.of(ChangePoint(), Xs, ys, groups=groups)
    return Part(InputData(Request((), (), {}), Terminal(), recordings, ChangePoint()), data)


def long(n, T=400, changes=13):
    """Recordings with changes at random places that are some samples apart."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        ends = np.sort(rng.choice(np.arange(6, T - 5, 7), changes, replace=False))
        y = np.searchsorted(ends, np.arange(T), side="right")
        time = TimeAxis("s", np.arange(T) / 10)
        found.append(Recording(f"r{i}", rng.normal(size=(T, 2)), y, ("a", "b"), time=time))
    return found


def n_changes(y):
    return int((y[1:] != y[:-1]).sum())


@pytest.mark.parametrize("n", [2, 3])
def test_try_holds_out_one_of_few_recordings_and_cuts_the_others(n):
    whole = part_of(long(n))
    train, test = split_in_parts(whole, None)
    assert len(test.inputs) == 1
    assert test.inputs.items[0] in whole.inputs.items  # as the user has it
    for name in {*train.inputs.names}:
        pieces = [item for item in train.inputs.items if item.name == name]
        (own,) = (item for item in whole.inputs.items if item.name == name)
        assert np.array_equal(np.concatenate([piece.X for piece in pieces]), own.X)
        counts = [n_changes(piece.y) for piece in pieces]
        assert (sum(counts), len(counts), min(counts), max(counts)) == (13, 6, 2, 3)
    assert test.inputs.names[0] not in train.inputs.names
    own = [item.name for item in train.inputs.items]
    assert train.data.groups == (own if n == 3 else None)
    assert bool(test.question) == (n == 2)
    assert [x.n_samples for x in train.data.instances] == [len(i.X) for i in train.inputs.items]
    assert [M.n_clusters for M in train.data.truths] == [n_changes(y) + 1 for y in train.data.given]


@pytest.mark.parametrize("window", [1, 4])
def test_try_holds_out_the_end_of_a_single_recording(window):
    (own,) = in_windows(long(1), window)
    whole = part_of([own])
    train, test = split_in_parts(whole, None)
    (end,) = test.inputs.items
    assert end.name == f"{own.name}_end"
    assert "is its end" in test.question
    assert np.array_equal(np.concatenate([item.X for item in (*train.inputs.items, end)]), own.X)
    assert "held out: its end, rows" in about_parts(whole, train, test, None)
    measured = end.fine or end
    assert measured.time.values[-1] == 39.9
    assert len(measured.X) == end.edges[-1]


@pytest.mark.parametrize(("n", "changes"), [(1, 5), (2, 3)])
def test_try_refuses_recordings_with_too_few_changes(n, changes):
    with pytest.raises(DataError, match="too few to choose from"):
        split_in_parts(part_of(long(n, changes=changes)), None)


@pytest.mark.parametrize(
    ("copied", "said"),
    [
        ([0] * 5, "1 recording, of which 4 more hold copies: too few"),
        ([0] * 2, "1 recording, of which 1 more hold copies: too few"),
        ([0], "1 recording: too few"),
    ],
)
def test_copies_that_make_recordings_too_few_are_named(copied, said):
    recordings = [long(1, changes=2)[i] for i in copied]
    with pytest.raises(DataError, match=said):
        split_in_parts(part_of(recordings), None)


def test_try_holds_out_recordings_labelled_in_part_and_says_so():
    recordings = long(9, T=80, changes=3)
    in_part = {1, 5, 6}
    for i in in_part:
        recordings[i] = replace(recordings[i], y=np.append(recordings[i].y[:-9], [-1] * 9))
    whole = part_of(recordings)
    train, test = split_in_parts(whole, None)
    names = [recordings[i].name for i in sorted(in_part)]
    plain = split_in_parts(part_of(long(9, T=80, changes=3)), None)[1]
    assert test.inputs.names == plain.inputs.names
    assert len(train.inputs) + len(test.inputs) == 9
    said = about_parts(whole, train, test, None)
    assert f"labelled in part, and scored on what is labelled: {', '.join(names)}" in said
    nothing = [
        replace(one, y=np.full(len(one.X), -1)) if i in in_part else one
        for i, one in enumerate(recordings)
    ]
    whole = part_of(nothing)
    train, test = split_in_parts(whole, None)
    assert {*names} <= {*train.inputs.names}
    said = about_parts(whole, train, test, None)
    assert f"with labels of other kinds, and so never held out: {', '.join(names)}" in said


@pytest.mark.parametrize("n_changing", [2, 3, 7])
def test_held_out_and_training_recordings_both_have_changes(n_changing):
    for shift in range(4):
        recordings = long(10, T=80, changes=3)
        for i, one in enumerate(recordings):
            if (i + shift) % 10 >= n_changing:
                recordings[i] = replace(one, y=np.zeros(80, dtype=int))
        for part in split_in_parts(part_of(recordings), None):
            assert any(known.n_changes for known in part.data.labels)


def test_a_group_with_recordings_labelled_in_part_is_not_divided():
    recordings = long(9, T=80, changes=3)
    for i in (1, 5, 6):
        recordings[i] = replace(recordings[i], y=np.append(recordings[i].y[:-9], [-1] * 9))
    train, test = split_in_parts(part_of(recordings, list("aaabbbccc")), None)
    assert not {*train.data.groups} & {*test.data.groups}
    assert len(train.inputs) + len(test.inputs) == 9


@pytest.mark.parametrize(("n", "changes"), [(10, 13), (30, 13), (12, 40)])
def test_the_first_answer_learns_from_a_stretch_with_changes_of_each_recording(n, changes):
    both = split_in_parts(part_of(long(n, changes=changes)), None)
    found = train, test = thinned(both, 1000)
    assert n_items(train) < 0.6 * n_items(both[0])
    assert n_items(train) <= 1000 or len(train.data) == len(both[0].data)
    for item in train.inputs.items:
        assert n_changes(item.y) >= 2
        (own,) = (one for one in both[0].inputs.items if one.name == item.name)
        start = int(np.flatnonzero((own.X == item.X[0]).all(axis=1))[0])
        assert np.array_equal(own.X[start : start + len(item.X)], item.X)  # nothing is averaged
    assert {len(item.X) for item in test.inputs.items} == {400}  # whole ones are judged
    assert len(test.data) == min(5, len(both[1].data)) >= 3
    said = about_time(both, found)
    assert f"{n_items(train):,} of {n_items(both[0])} samples" in said
    assert "more --minutes" in said


@pytest.mark.parametrize("in_part", [True, False])
def test_the_first_answer_learns_from_samples_about_a_change_of_long_recordings(in_part):
    recordings = long(10, T=4000, changes=1)
    for i, one in enumerate(recordings) if in_part else ():
        change = int(one.y.argmax())
        is_labelled = np.abs(np.arange(4000) - change) < 50 + i
        recordings[i] = replace(one, y=np.where(is_labelled, one.y, -1))
    both = split_in_parts(part_of(recordings), None)
    train, _ = thinned(both, 1000)
    assert len(train.data) >= 4
    assert n_items(train) <= 1000
    for item, given, known in zip(
        train.inputs.items, train.data.given, train.data.labels, strict=True
    ):
        assert np.array_equal(item.y, given)
        assert known.n_samples == len(item.X)
        assert len({*item.y.tolist()} - {-1}) == 2
    places = {int(known.changes[0]) / known.n_samples for known in train.data.labels}
    assert in_part or max(places) - min(places) > 0.1  # their times alone tell nothing


def test_more_time_lets_more_samples_be_learned_from_and_enough_time_all():
    both = split_in_parts(part_of(long(20)), None)
    sizes = [n_items(thinned(both, most)[0]) for most in (300, 1000, 3000, 10_000)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == n_items(both[0])
    assert thinned(both, 10_000) == both


def test_many_columns_leave_fewer_samples_to_learn_from():
    few = split_in_parts(part_of(long(20)), None)
    wide = [replace(one, X=np.repeat(one.X, 50, axis=1)) for one in long(20)]
    wide = [replace(one, features=tuple(f"c{j}" for j in range(100))) for one in wide]
    many = split_in_parts(part_of(wide), None)
    assert n_items(thinned(many, 3000)[0]) < n_items(thinned(few, 3000)[0])


def wide(P, ordered):
    """Ten recordings, or a table, of which three columns alone follow the labels."""
    rng = np.random.default_rng(0)
    kept = []
    for one in long(10, changes=4) if ordered else long(1, T=2000, changes=40):
        X = rng.normal(size=(len(one.X), P))
        X[:, [5, 70, P - 1]] += 2.0 * (one.y[:, None] % 3)
        kept.append(replace(one, X=X, features=tuple(f"c{j}" for j in range(P)), time=None))
    problem = ChangePoint() if ordered else Clustering()
    data = TrainingSet.of(problem, [one.X for one in kept], [one.y % 3 for one in kept])
    data = replace(data, names=list(kept[0].features))
    inputs = InputData(Request((), (), {}, problem=""), Terminal(), kept, problem)
    return Part(inputs, data)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("P", [300, 1000, 3000])
def test_the_first_answer_sees_some_of_very_many_columns(P, ordered):
    """What is learned from, and a matrix of columns by columns, has about as many values."""
    whole = wide(P, ordered)
    both = (whole, whole)
    sizes = []
    for most in (1000, 15_000, 10**7):
        train, test = found = thinned(both, most)
        Q = train.data.n_features
        assert [x.shape[1] for x in train.inputs.Xs] == [Q] * len(train.inputs)
        assert list(train.inputs.features) == train.data.names
        assert Q**2 <= 3 * most
        assert test.data.n_features == P
        said = about_time(both, found)
        assert (f"{Q} of {P:,} columns" in said) == (P > Q)
        for item, instance in zip(train.inputs.items, train.data.instances, strict=True):
            assert np.array_equal(item.X, instance.X)
        if ordered:  # without a look at labels
            assert {"c5", "c70", f"c{P - 1}"} <= {*train.inputs.features}
        sizes.append(Q)
    assert sizes == sorted(sizes)
    assert sizes[-1] == P
    again = test.of_columns(train.inputs.features)
    assert np.array_equal(again.data.instances[0].X, again.inputs.items[0].X)


@pytest.mark.parametrize(("n", "T"), [(6, 4000), (12, 2000), (3, 9000)])
def test_very_long_held_out_recordings_are_judged_in_part(n, T):
    both = split_in_parts(part_of(long(n, T=T, changes=60)), None)
    (_, test) = thinned(both, 400)
    assert n_items(test) < 0.5 * n_items(both[1])
    assert all(n_changes(item.y) >= 2 for item in test.inputs.items)
    assert {item.name for item in test.inputs.items} <= {x.name for x in both[1].inputs.items}


@pytest.mark.parametrize("sizes", [(900, 900, 900), (2500, 180, 20), (3000, 40)])
def test_the_first_answer_learns_from_drawn_rows_of_each_cluster(sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(0).normal(size=(y.size, 3))
    table = Recording("t", X, y, ("a", "b", "c"))
    data = TrainingSet.of(Clustering(), [X], [y])
    request = Request((), (), {}, problem="clustering")
    whole = Part(InputData(request, Terminal(), [table], Clustering()), data)
    both = split_in_parts(whole, "rows")
    train, test = thinned(both, 600)
    assert 600 <= n_items(train) <= 600 + 20 * len(sizes)
    assert n_items(test) < n_items(both[1])
    for part, least in ((train, 20), (test, 10)):
        (item,) = part.inputs.items
        assert np.array_equal(item.y, part.data.given[0])
        counts = np.unique(item.y, return_counts=True)[1]
        there = np.unique(both[part is test].inputs.items[0].y, return_counts=True)[1]
        assert (counts >= np.minimum(least, there)).all()
    assert thinned(both, 10_000) == both


def test_a_state_that_few_recordings_have_is_not_left_out():
    recordings = [replace(one, y=one.y % 3) for one in long(40, changes=1)]
    rare = [replace(one, y=one.y + 5) if i in (3, 30) else one for i, one in enumerate(recordings)]
    both = split_in_parts(part_of(rare), None)
    (train, _) = thinned(both, 200)
    assert len(train.data) < len(both[0].data)
    assert {*np.concatenate(train.inputs.ys)} == {*np.concatenate(both[0].inputs.ys)}


@pytest.mark.parametrize(("named", "times"), [(True, 4), (False, 1)])
def test_samples_of_long_segments_with_names_count_less(named, times):
    """Classifiers score four samples of 400 as one, so that more segments are learned from."""
    recordings = []
    for one in long(10, T=6000):
        codes = np.arange(6000) // 400
        y = np.array(["rest", "walk"])[codes % 2] if named else codes
        recordings.append(replace(one, y=y))
    both = split_in_parts(part_of(recordings), None)
    train, test = thinned(both, 2000)
    assert 0.7 * times * 2000 < n_items(train) <= times * 2000
    assert n_items(test) <= max(times * 1000 + 6000, 3 * 6000)


def test_samples_count_alike_where_no_neighbours_have_labels():
    recordings = []
    for one in long(10):
        y = [["rest", "walk"][t // 40 % 2] if t % 3 == 0 else None for t in range(400)]
        recordings.append(replace(one, y=PartialLabels(labels=y)))
    part = part_of(recordings)
    train, test = thinned((part, part), 10_000)
    assert n_items(train) == n_items(test) == 4000
