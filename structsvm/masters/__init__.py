"""Restricted problems over the working set of cuts."""
