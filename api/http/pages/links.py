"""Where the page of a resource is."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from resources.registry import BY_NAME

HOME = "/ui"


def address(kind: str, name: str, project: str = "") -> str:
    """Empty for what has no page, such as the server itself."""
    if kind not in BY_NAME:
        return ""
    where = f"{HOME}/{quote(kind)}/{quote(name)}"
    return f"{where}?{urlencode({'project': project})}" if project and project != "default" else where
