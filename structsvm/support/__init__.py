"""What every floor stands on: contracts, progress, optional libraries."""
