"""Separation oracles: one algorithm per file."""
