from structsvm.datasets.digits import digits_recordings as digits_recordings
from structsvm.datasets.public import fetch_har_spsw as fetch_har_spsw
from structsvm.datasets.public import fetch_skab as fetch_skab
from structsvm.datasets.generated import relevant_changes as relevant_changes
