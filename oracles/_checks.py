"""What the oracles over set partitions check at the door."""

from __future__ import annotations

from structsvm.errors import OracleError
from structsvm.partitions.oracle import Constraint


def number_of_clusters(
    constraint: Constraint, n_samples: int, *, links: bool = False
) -> int | None:
    """The K that a constraint on set partitions asks for, None if it is left open."""
    constraint.validate(n_samples)
    if constraint.has_links and not links:
        raise OracleError(
            "this oracle cannot keep samples together or apart: use ClusteringOracle, or drop them"
        )
    if constraint.has_boundaries:
        raise OracleError(
            "boundaries and regions belong to segmentations; clusters have none: use a "
            "sequential oracle, or drop them"
        )
    return constraint.n_clusters
