"""What a night leaves to be read: summary, JUnit XML, page."""
