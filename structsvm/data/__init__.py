"""Instances as arrays: what users hold, checked once, in memory or read on demand."""
