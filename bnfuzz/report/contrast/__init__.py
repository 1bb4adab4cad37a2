"""The answer of `bnfuzz compare`."""
