"""How good partitions are, how they compare, and whether learning pays."""
