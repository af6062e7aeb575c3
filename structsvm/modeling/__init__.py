"""Convex functions that are known through oracles, as atoms of cvxpy, and their solver.

Importing this registers ``cvxpy.Problem.solve(method="cutting-plane")``.
"""

import cvxpy as cp

from structsvm.modeling.atoms import OracleMax
from structsvm.modeling.certified import Certified
from structsvm.modeling.hinge import StructuredHinge, segmentation_hinge
from structsvm.modeling.method import solve
from structsvm.modeling.oracle_parts import Infeasible
from structsvm.modeling.pool import Plane

__all__ = ["Certified", "Infeasible", "OracleMax", "Plane", "StructuredHinge", "segmentation_hinge"]

cp.Problem.register_solve("cutting-plane", solve)
