"""What the tool raises: misuse of it, and trouble with the machine it runs on.

A disagreement between a backend and the reference is never an exception; it is a verdict.
Every message names the thing, its value, the rule it breaks and the remedy.
"""


class BnfuzzError(Exception):
    """Base of everything this package raises on purpose; `exit_code` is what the command line returns."""

    exit_code = 3


class UsageError(BnfuzzError):
    """Bad input from the caller: an argument, a file, a function."""

    exit_code = 2


class CaseFileError(UsageError):
    """A case file that cannot be read: names the file, the place in it and the remedy."""


class InfrastructureError(BnfuzzError):
    """The machine failed us: an environment that cannot be made, a worker that will not start."""


class InternalError(BnfuzzError):
    """A broken invariant of this package itself (a NaN in an error bound, say); always a bug to report."""


def printable(text: str) -> str:
    """The text without terminal control characters and lone surrogates: each becomes U+FFFD."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" or (ord(char) >= 160 and not 0xD800 <= ord(char) < 0xE000) else "�"
        for char in text
    )
