"""The measurements of docs/results.md; each is run by ``python -m experiments.FOLDER.NAME``."""
