"""The learned metric in other libraries: for segments, points, data frames and graphs."""

from structsvm.interop.breakpoints import (
    breakpoints_to_changepoints,
    breakpoints_to_labels,
    changepoints_to_breakpoints,
    labels_to_breakpoints,
    labels_to_matrix,
    matrix_to_labels,
)
from structsvm.interop.export import export_metric
from structsvm.interop.frames import metric_frame
from structsvm.interop.graphs import weighted_graph

__all__ = [
    "breakpoints_to_changepoints",
    "breakpoints_to_labels",
    "changepoints_to_breakpoints",
    "export_metric",
    "labels_to_breakpoints",
    "labels_to_matrix",
    "matrix_to_labels",
    "metric_frame",
    "weighted_graph",
]
