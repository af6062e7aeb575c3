"""Outer loops that learn the weights."""
