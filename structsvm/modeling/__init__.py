"""Convex functions that only oracles know, as atoms of cvxpy, and the solver of such problems.

Importing a name from here registers ``cvxpy.Problem.solve(method="cutting-plane")``.
"""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.modeling.public import Certified as Certified
    from structsvm.modeling.public import OracleMax as OracleMax
    from structsvm.modeling.public import Plane as Plane
    from structsvm.modeling.public import StructuredHinge as StructuredHinge
    from structsvm.modeling.public import segmentation_hinge as segmentation_hinge
else:
    names = ("Certified", "OracleMax", "Plane", "StructuredHinge", "segmentation_hinge")
    __getattr__, __dir__, __all__ = lazy(
        __name__, dict.fromkeys(names, "structsvm.modeling.public")
    )
    del names
