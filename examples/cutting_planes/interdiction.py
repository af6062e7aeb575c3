"""The cheapest capacities with which a network carries a flow after the loss of any edge."""

import cvxpy as cp
import networkx as nx
import numpy as np

from structsvm.modeling import OracleMax


def survivable(graph: nx.DiGraph, costs: np.ndarray, s: int, t: int, flow: float) -> cp.Problem:
    """Minimise the cost of capacities ``u`` that carry a flow from s to t without any one edge."""
    edges = list(graph.edges)
    kept = 1.0 - np.eye(len(costs))
    u = cp.Variable(len(costs), nonneg=True, name="u")

    def smallest_cut(capacities):
        nx.set_edge_attributes(graph, dict(zip(edges, capacities, strict=True)), "capacity")
        _, (near, far) = nx.minimum_cut(graph, s, t)
        return np.array([i in near and j in far for i, j in edges])

    def minus_flows(u):
        slopes = np.array([-row * smallest_cut(row * u.clip(0)) for row in kept])
        return slopes @ u, slopes

    return cp.Problem(cp.Minimize(costs @ u), [OracleMax(u, minus_flows, n_terms=u.size) <= -flow])


if __name__ == "__main__":
    problem = survivable(nx.complete_graph(4, nx.DiGraph), np.ones(12), 0, 3, flow=2.0)
    print(problem.solve(method="cutting-plane"))
