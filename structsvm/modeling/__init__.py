"""Convex functions that only oracles know, as atoms of cvxpy, and the solver of such problems.

Importing a name from here registers ``cvxpy.Problem.solve(method="cutting-plane")``.
"""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.modeling.atoms import OracleMax as OracleMax
    from structsvm.modeling.hinge import StructuredHinge as StructuredHinge
    from structsvm.modeling.outcome import Certified as Certified
    from structsvm.modeling.planes import Plane as Plane
    from structsvm.modeling.segmentation_hinge import segmentation_hinge as segmentation_hinge
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "Certified": "structsvm.modeling.outcome",
            "OracleMax": "structsvm.modeling.atoms",
            "Plane": "structsvm.modeling.planes",
            "segmentation_hinge": "structsvm.modeling.segmentation_hinge",
            "StructuredHinge": "structsvm.modeling.hinge",
        },
    )
