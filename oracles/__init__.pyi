from structsvm.oracles.allowed_segments import AllowedSegmentsOracle as AllowedSegmentsOracle
from structsvm.oracles.clustering import ClusteringOracle as ClusteringOracle
from structsvm.oracles.exhaustive import ExhaustiveOracle as ExhaustiveOracle
from structsvm.oracles.exhaustive import all_partitions as all_partitions
from structsvm.oracles.exhaustive import all_segmentations as all_segmentations
from structsvm.oracles.semidefinite import SemidefiniteOracle as SemidefiniteOracle
from structsvm.oracles.sequential import SequentialOracle as SequentialOracle
from structsvm.oracles.spectral import SpectralOracle as SpectralOracle
