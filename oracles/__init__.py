"""Separation oracles: one algorithm per file."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.oracles.allowed_segments import AllowedSegmentsOracle as AllowedSegmentsOracle
    from structsvm.oracles.clustering import ClusteringOracle as ClusteringOracle
    from structsvm.oracles.exhaustive import ExhaustiveOracle as ExhaustiveOracle
    from structsvm.oracles.exhaustive import all_partitions as all_partitions
    from structsvm.oracles.exhaustive import all_segmentations as all_segmentations
    from structsvm.oracles.semidefinite import SemidefiniteOracle as SemidefiniteOracle
    from structsvm.oracles.sequential import SequentialOracle as SequentialOracle
    from structsvm.oracles.spectral import SpectralOracle as SpectralOracle
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "AllowedSegmentsOracle": "structsvm.oracles.allowed_segments",
            "ClusteringOracle": "structsvm.oracles.clustering",
            "ExhaustiveOracle": "structsvm.oracles.exhaustive",
            "SemidefiniteOracle": "structsvm.oracles.semidefinite",
            "SequentialOracle": "structsvm.oracles.sequential",
            "SpectralOracle": "structsvm.oracles.spectral",
            "all_partitions": "structsvm.oracles.exhaustive",
            "all_segmentations": "structsvm.oracles.exhaustive",
        },
    )
