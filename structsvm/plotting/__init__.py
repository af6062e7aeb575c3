"""Pictures of segmentations, of metrics and of learning; what a learner has learned, in words.

Every function draws on the axes given as ``ax``, or on new ones, and returns them; matplotlib is
imported when the first picture is drawn.
"""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.plotting.clusters import plot_clusters as plot_clusters
    from structsvm.plotting.cuts import overlay as overlay
    from structsvm.plotting.cuts import plot_cut as plot_cut
    from structsvm.plotting.learning import plot_gap as plot_gap
    from structsvm.plotting.learning import plot_label_fraction as plot_label_fraction
    from structsvm.plotting.learning import plot_path as plot_path
    from structsvm.plotting.metric import plot_metric as plot_metric
    from structsvm.plotting.metric import plot_spectrum as plot_spectrum
    from structsvm.plotting.metric import plot_weights as plot_weights
    from structsvm.plotting.segments import plot_segmentation as plot_segmentation
    from structsvm.plotting.stability import plot_weight_stability as plot_weight_stability
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "overlay": "structsvm.plotting.cuts",
            "plot_clusters": "structsvm.plotting.clusters",
            "plot_cut": "structsvm.plotting.cuts",
            "plot_gap": "structsvm.plotting.learning",
            "plot_label_fraction": "structsvm.plotting.learning",
            "plot_metric": "structsvm.plotting.metric",
            "plot_path": "structsvm.plotting.learning",
            "plot_segmentation": "structsvm.plotting.segments",
            "plot_spectrum": "structsvm.plotting.metric",
            "plot_weight_stability": "structsvm.plotting.stability",
            "plot_weights": "structsvm.plotting.metric",
        },
    )
