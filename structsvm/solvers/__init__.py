"""Outer loops that learn the weights, and the masters of the cutting-plane method."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.masters.auto import AutoMaster as AutoMaster
    from structsvm.masters.cvxpy import CvxpyMaster as CvxpyMaster
    from structsvm.masters.interior import InteriorPointMaster as InteriorPointMaster
    from structsvm.masters.newton import NewtonMaster as NewtonMaster
    from structsvm.solvers.auto import solver_from as solver_from
    from structsvm.solvers.base import Solver as Solver
    from structsvm.solvers.cccp import CCCP as CCCP
    from structsvm.solvers.cutting_plane import CuttingPlane as CuttingPlane
    from structsvm.solvers.frank_wolfe import BlockFrankWolfe as BlockFrankWolfe
    from structsvm.solvers.memory import Memory as Memory
    from structsvm.solvers.quasi_newton import QuasiNewton as QuasiNewton
    from structsvm.solvers.stopping import Stopping as Stopping
    from structsvm.solvers.subgradient import ProjectedSubgradient as ProjectedSubgradient
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "AutoMaster": "structsvm.masters.auto",
            "BlockFrankWolfe": "structsvm.solvers.frank_wolfe",
            "CCCP": "structsvm.solvers.cccp",
            "CuttingPlane": "structsvm.solvers.cutting_plane",
            "CvxpyMaster": "structsvm.masters.cvxpy",
            "InteriorPointMaster": "structsvm.masters.interior",
            "Memory": "structsvm.solvers.memory",
            "NewtonMaster": "structsvm.masters.newton",
            "ProjectedSubgradient": "structsvm.solvers.subgradient",
            "QuasiNewton": "structsvm.solvers.quasi_newton",
            "Solver": "structsvm.solvers.base",
            "Stopping": "structsvm.solvers.stopping",
            "solver_from": "structsvm.solvers.auto",
        },
    )
