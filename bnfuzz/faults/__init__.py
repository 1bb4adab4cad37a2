"""The fault catalogue: a textbook kernel of replaceable steps, named deviations of it, and sound variants."""
