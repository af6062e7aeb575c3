"""Machinery of the spectral oracles."""
