"""The oracle is exact, the problem keeps its contract, and metrics are learned on trees."""

import networkx as nx
import numpy as np
import pytest
from structsvm_tree import TreeOracle, TreeParts
from structsvm_tree.problem import Edges

from structsvm import MetricLearner, PartialLabels, evaluate
from structsvm.errors import DataError, OracleError
from structsvm.oracles import all_partitions
from structsvm.partitions import Constraint, EquivalenceMatrix, TraceObjective, plugins
from structsvm.testing import check_problem


def river(seed, reach=7):
    """Return a tree of five reaches, with features and a label for each node.

    The first feature tells whether a node is above or below the last dam.
    """
    rng = np.random.default_rng(seed)
    tree = nx.Graph()
    tree.add_node(0)
    mouths = {1: 0, 2: reach, 3: reach, 4: 2 * reach, 5: 2 * reach}
    for mouth in mouths.values():
        at = mouth
        for _ in range(reach):
            new = tree.number_of_nodes()
            tree.add_edge(at, new)
            at = new
    dam = int(rng.integers(2, reach - 1))
    y = np.ones(tree.number_of_nodes(), dtype=int)
    y[: dam + 1] = 0
    X = np.outer(y, [1.2, 0.0, 0.0, 0.0]) + rng.normal(size=(y.size, 4)) * [0.4, 1.0, 1.0, 1.0]
    return (X, tree), y


def rivers(seed, n=4):
    """Return some rivers and their labels."""
    both = [river(100 * seed + i) for i in range(n)]
    return [x for x, _ in both], [y for _, y in both]


def connected(tree, labels):
    """Tell whether every part is connected."""
    return all(
        nx.is_connected(tree.subgraph(np.flatnonzero(labels == k).tolist()))
        for k in range(labels.max() + 1)
    )


def test_the_oracle_is_exact_on_trees_of_any_shape():
    rng = np.random.default_rng(0)
    for number in range(40):
        T = int(rng.integers(1, 8))
        tree = nx.random_labeled_tree(T, seed=number) if T > 1 else nx.empty_graph(1)
        if number % 5 == 0 and T > 3:
            tree.remove_edge(*next(iter(tree.edges)))
        family = [EquivalenceMatrix.from_labels(p) for p in all_partitions(T) if connected(tree, p)]
        truth = family[int(rng.integers(len(family)))] if number % 2 else None
        objective = TraceObjective(
            rng.normal(size=(T, 2)),
            truth,
            2.0 if number % 2 else 0.0,
            float(rng.choice([-1.0, -0.3, 0.4])),
        )
        oracle = TreeOracle(tuple(tree.edges))
        for K in (None, *range(1, T + 1)):
            allowed = [M for M in family if K in (None, M.n_clusters)]
            if not allowed:
                with pytest.raises(OracleError, match="2 trees cannot be 1 connected parts"):
                    oracle.ask(objective, Constraint(n_clusters=K))
                continue
            answer = oracle.ask(objective, Constraint(n_clusters=K))
            assert answer.y in allowed
            assert answer.value == pytest.approx(max(map(objective.value, allowed)), abs=1e-9)


def test_the_problem_keeps_its_contract():
    report = check_problem(TreeParts(), *rivers(seed=0, n=2))
    assert min(report.enumerated.values()) == 1  # of a single node
    assert report.enumerated[6] > 20
    assert min(report.given) > 20


def test_their_names_lead_here():
    assert plugins.problem_class("tree") is TreeParts
    assert plugins.plugin_class(plugins.ORACLES, "tree") is TreeOracle


def test_a_tree_with_too_many_connected_parts_is_refused():
    star = TreeOracle(tuple((0, i) for i in range(1, 30)))
    with pytest.raises(OracleError, match="cut the tree in smaller ones"):
        star.maximize(TraceObjective(np.ones((30, 1))))


def test_what_is_no_tree_is_refused_by_number():
    (X, tree), y = river(0)
    ring = nx.cycle_graph(X.shape[0])
    with pytest.raises(DataError, match="tree 1: it is directed or has a cycle"):
        MetricLearner(TreeParts()).fit([(X, tree), (X, ring)], [y, y])
    with pytest.raises(DataError, match="tree 0: give every node an attribute 'features'"):
        MetricLearner(TreeParts()).fit([tree], [y])
    with pytest.raises(DataError, match="tree 0: it has 36 nodes and features of 35"):
        MetricLearner(TreeParts()).fit([(X[1:], tree)], [y])


def test_features_may_stand_in_the_nodes():
    (X, tree), y = river(0)
    for node, x in zip(tree, X, strict=True):
        tree.nodes[node]["features"] = x
    (instance,), _ = TreeParts().read([tree])
    assert np.array_equal(instance.X, X)
    M = TreeParts().encode(y, instance)
    assert M.n_clusters == 2
    assert instance.at(np.arange(3)).side == Edges(((0, 1), (1, 2)))


def test_learning_beats_the_untrained_metric_on_new_trees():
    learner = MetricLearner(TreeParts(), metric="diagonal").fit(*rivers(seed=0))
    Xs, ys = rivers(seed=1)
    scores = evaluate(learner, Xs, ys).scores
    assert scores["learned"]["loss"] < scores["untrained"]["loss"]
    assert all(connected(tree, y) for (_, tree), y in zip(Xs, learner.predict(Xs), strict=True))


def test_some_nodes_may_be_without_a_label():
    Xs, ys = rivers(seed=0)
    ys[1] = PartialLabels(np.where(np.arange(ys[1].size) < 20, ys[1], -1))
    learner = MetricLearner(TreeParts(), metric="diagonal")
    with pytest.raises(DataError, match="tree 1: TreeOracle does not take links"):
        learner.fit(Xs, ys)
