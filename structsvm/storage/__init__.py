"""Files: what is written and read, checked, never half of it."""
