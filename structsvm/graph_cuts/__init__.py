"""Learning to cut graphs and images."""
