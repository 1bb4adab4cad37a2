"""Issue text for a framework's maintainers, with all that supports its claim."""
