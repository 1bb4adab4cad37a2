"""Why an implementation is off: causes, conventions, and what sets two implementations apart."""
