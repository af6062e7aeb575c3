"""Generators and real recordings for examples and tests."""
