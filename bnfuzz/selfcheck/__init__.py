"""The self-check: planted faults must be found, sound kernels must not be accused."""
