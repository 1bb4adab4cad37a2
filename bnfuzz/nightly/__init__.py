"""One night: replay, search, look again at what is open, report."""
