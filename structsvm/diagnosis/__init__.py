"""What makes a fit poor, and what to do about it."""
