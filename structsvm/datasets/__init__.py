"""Recordings, tables and images: public sets, digits of scikit-learn, synthetic ones."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.datasets.annotated import Annotated as Annotated
    from structsvm.datasets.annotated import fetch_tcpd as fetch_tcpd
    from structsvm.datasets.digits import digits_recordings as digits_recordings
    from structsvm.datasets.fetch import fetch_beedance as fetch_beedance
    from structsvm.datasets.fetch import fetch_har_spsw as fetch_har_spsw
    from structsvm.datasets.fetch import fetch_hasc1 as fetch_hasc1
    from structsvm.datasets.fetch import fetch_mocap6 as fetch_mocap6
    from structsvm.datasets.fetch import fetch_mocap86 as fetch_mocap86
    from structsvm.datasets.fetch import fetch_skab as fetch_skab
    from structsvm.datasets.fetch import fetch_tep as fetch_tep
    from structsvm.datasets.fetch import fetch_tssb as fetch_tssb
    from structsvm.datasets.has2023 import read_has2023 as read_has2023
    from structsvm.datasets.images import SegmentedImage as SegmentedImage
    from structsvm.datasets.images import fetch_weizmann_horse as fetch_weizmann_horse
    from structsvm.datasets.neuroblastoma import AnnotatedProfile as AnnotatedProfile
    from structsvm.datasets.neuroblastoma import annotation_errors as annotation_errors
    from structsvm.datasets.neuroblastoma import fetch_neuroblastoma as fetch_neuroblastoma
    from structsvm.datasets.neuroblastoma import read_profiles as read_profiles
    from structsvm.datasets.synthetic import relevant_changes as relevant_changes
    from structsvm.datasets.tables import balance_scale as balance_scale
    from structsvm.datasets.tables import fetch_ionosphere as fetch_ionosphere
    from structsvm.datasets.tables import fetch_letter as fetch_letter
    from structsvm.datasets.tables import fetch_movement_libras as fetch_movement_libras
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "Annotated": "structsvm.datasets.annotated",
            "AnnotatedProfile": "structsvm.datasets.neuroblastoma",
            "SegmentedImage": "structsvm.datasets.images",
            "annotation_errors": "structsvm.datasets.neuroblastoma",
            "balance_scale": "structsvm.datasets.tables",
            "digits_recordings": "structsvm.datasets.digits",
            "fetch_beedance": "structsvm.datasets.fetch",
            "fetch_har_spsw": "structsvm.datasets.fetch",
            "fetch_hasc1": "structsvm.datasets.fetch",
            "fetch_ionosphere": "structsvm.datasets.tables",
            "fetch_letter": "structsvm.datasets.tables",
            "fetch_mocap6": "structsvm.datasets.fetch",
            "fetch_mocap86": "structsvm.datasets.fetch",
            "fetch_movement_libras": "structsvm.datasets.tables",
            "fetch_neuroblastoma": "structsvm.datasets.neuroblastoma",
            "fetch_skab": "structsvm.datasets.fetch",
            "fetch_tcpd": "structsvm.datasets.annotated",
            "fetch_tep": "structsvm.datasets.fetch",
            "fetch_tssb": "structsvm.datasets.fetch",
            "fetch_weizmann_horse": "structsvm.datasets.images",
            "read_has2023": "structsvm.datasets.has2023",
            "read_profiles": "structsvm.datasets.neuroblastoma",
            "relevant_changes": "structsvm.datasets.synthetic",
        },
    )
