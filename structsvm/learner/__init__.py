"""The estimator: settings, training set, fit, and what a fitted learner does."""
