"""Stand-alone scripts that show a fault: one writer for each framework."""
