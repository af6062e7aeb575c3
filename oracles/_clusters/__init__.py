"""Machinery of the clustering oracles."""
