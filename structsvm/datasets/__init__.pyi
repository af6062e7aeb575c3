from structsvm.datasets.generated import digits_recordings as digits_recordings
from structsvm.datasets.generated import relevant_changes as relevant_changes
from structsvm.datasets.public import fetch_har_spsw as fetch_har_spsw
from structsvm.datasets.public import fetch_skab as fetch_skab
