"""Shrinking: from a failing Case to a small, round one that fails in the same way."""
