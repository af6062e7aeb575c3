from structsvm.interop.adapters import distance_function as distance_function
from structsvm.interop.adapters import ruptures_cost as ruptures_cost
from structsvm.interop.adapters import ruptures_detector as ruptures_detector
from structsvm.interop.breakpoints import (
    breakpoints_to_changepoints as breakpoints_to_changepoints,
)
from structsvm.interop.breakpoints import breakpoints_to_labels as breakpoints_to_labels
from structsvm.interop.breakpoints import (
    changepoints_to_breakpoints as changepoints_to_breakpoints,
)
from structsvm.interop.breakpoints import labels_to_breakpoints as labels_to_breakpoints
from structsvm.interop.breakpoints import labels_to_matrix as labels_to_matrix
from structsvm.interop.breakpoints import matrix_to_labels as matrix_to_labels
from structsvm.interop.export import export_metric as export_metric
from structsvm.interop.frames import metric_frame as metric_frame
from structsvm.interop.graphs import weighted_graph as weighted_graph
from structsvm.learner.steps import prepare as prepare
