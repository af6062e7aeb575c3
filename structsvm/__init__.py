"""Learn Mahalanobis metrics for partitioning problems from labelled examples."""
