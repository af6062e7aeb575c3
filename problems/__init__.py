"""Problem declarations: feature map, loss and the oracle that separates."""
