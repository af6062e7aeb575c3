"""Pictures of segmentations, of metrics and of learning.

Every function draws on the axes given as ``ax``, or on new ones, and returns them; matplotlib is
imported when the first picture is drawn.
"""

from structsvm.plotting.clusters import plot_clusters
from structsvm.plotting.cuts import overlay, plot_cut
from structsvm.plotting.learning import plot_gap, plot_label_fraction, plot_path
from structsvm.plotting.metric import plot_metric, plot_spectrum, plot_weights
from structsvm.plotting.segments import plot_segmentation

__all__ = [
    "overlay",
    "plot_clusters",
    "plot_cut",
    "plot_gap",
    "plot_label_fraction",
    "plot_metric",
    "plot_path",
    "plot_segmentation",
    "plot_spectrum",
    "plot_weights",
]
