"""Two batch norms against each other."""
