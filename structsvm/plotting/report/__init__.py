"""The report: what a learner has learned and what that is worth, as one page."""
