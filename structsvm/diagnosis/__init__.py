"""What makes a fit poor, and what to do about it."""

from structsvm.diagnosis.checks import Diagnosis, Finding, diagnose, diagnose_measured

__all__ = ["Diagnosis", "Finding", "diagnose", "diagnose_measured"]
