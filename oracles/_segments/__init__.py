"""Machinery of the sequential oracle."""
