"""Convex functions that are known through oracles, as atoms of cvxpy, and their solver.

Importing a name from here registers ``cvxpy.Problem.solve(method="cutting-plane")``.
"""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
