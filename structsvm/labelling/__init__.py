"""A page in the browser to label recordings, and to correct what is learned from the labels."""
