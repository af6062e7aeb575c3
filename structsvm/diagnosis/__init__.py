"""What makes a fit poor, and what to do about it."""

from structsvm.diagnosis.examine import diagnose, diagnose_measured
from structsvm.diagnosis.findings import Diagnosis, Finding

__all__ = ["Diagnosis", "Finding", "diagnose", "diagnose_measured"]
