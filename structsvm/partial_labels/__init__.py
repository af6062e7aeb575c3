"""Labels that are known in part: what they say, completing them, learning from them."""
