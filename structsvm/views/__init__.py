"""What a fitted learner looks like: names, weights, words."""
