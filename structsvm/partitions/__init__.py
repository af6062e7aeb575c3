"""What every partition problem shares."""
