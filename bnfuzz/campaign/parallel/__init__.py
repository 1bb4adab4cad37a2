"""A campaign on several processes of this machine or on a cluster: the same units, taken in the same order."""
