from structsvm.data.sample import Sample as Sample
from structsvm.data.sample import Words as Words
from structsvm.partitions.equivalence import EquivalenceMatrix as EquivalenceMatrix
from structsvm.partitions.equivalence import KeptPartition as KeptPartition
from structsvm.partitions.labelled import LabelledSample as LabelledSample
from structsvm.partitions.labelled import SearchedSample as SearchedSample
from structsvm.partitions.labelled import Traits as Traits
from structsvm.partitions.learning import Learning as Learning
from structsvm.partitions.learning import MetricObjective as MetricObjective
from structsvm.partitions.losses import adjusted_rand_index as adjusted_rand_index
from structsvm.partitions.losses import chi_square as chi_square
from structsvm.partitions.losses import covering as covering
from structsvm.partitions.losses import hausdorff as hausdorff
from structsvm.partitions.losses import margin_f1 as margin_f1
from structsvm.partitions.losses import partition_loss as partition_loss
from structsvm.partitions.losses import rand_index as rand_index
from structsvm.partitions.losses import state_matching_score as state_matching_score
from structsvm.partitions.losses import (
    weighted_adjusted_rand_index as weighted_adjusted_rand_index,
)
from structsvm.partitions.margins import MarginRates as MarginRates
from structsvm.partitions.metric import Metric as Metric
from structsvm.partitions.oracle import UNCONSTRAINED as UNCONSTRAINED
from structsvm.partitions.oracle import Argmax as Argmax
from structsvm.partitions.oracle import Constraint as Constraint
from structsvm.partitions.oracle import Oracle as Oracle
from structsvm.partitions.oracle import Region as Region
from structsvm.partitions.oracle import TraceObjective as TraceObjective
from structsvm.partitions.problem import Baseline as Baseline
from structsvm.partitions.problem import Candidate as Candidate
from structsvm.partitions.problem import Comparison as Comparison
from structsvm.partitions.problem import PartitionProblem as PartitionProblem
from structsvm.solution import Quality as Quality
