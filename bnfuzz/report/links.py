"""Addresses from elsewhere that may become links: those of the web, and no others."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from bnfuzz.report.markdown import escaped


def web_address(text: str) -> str:
    """The address, every character that could end a link encoded; empty where it is none of http or https."""
    address = text.strip()
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if parts.scheme.lower() not in ("http", "https") or not parts.netloc or not address.isprintable():
        return ""
    return quote(address, safe=":/?#@!$&+,;=%~-._")


def linked(text: str, address: str) -> str:
    """The text as Markdown that shows it; a link where the address is one of the web."""
    safe = web_address(address)
    return f"[{escaped(text) or 'link'}]({safe})" if safe else escaped(text)
