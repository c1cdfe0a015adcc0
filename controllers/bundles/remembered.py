"""What large bundles stand for, worked out once for each spec and not in a pass for each of a hundred jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from controllers.expansion import Expected, expand
from resources.bundle import Bundle
from resources.canonical import Document
from resources.template import TemplateSpec

LARGE = 8
"""Entries from which on a bundle is worth remembering."""
MOST = 256
"""Bundles remembered; the oldest goes first."""


class _Known(NamedTuple):
    document: Document
    templates: Mapping[str, TemplateSpec]
    expected: tuple[Expected, ...]


class Remembered:
    """The answer depends on the bundle and its templates alone, so it may be shared; safe from every thread."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def expanded(self, bundle: Bundle, templates: Mapping[str, TemplateSpec]) -> tuple[Expected, ...]:
        """Raises Invalid, as `expand` does."""
        if len(bundle.spec.jobs) < LARGE:
            return expand(bundle.name, bundle.spec, templates)
        known = self._known.get(bundle.uid)
        if known is not None and known.document == bundle.document and known.templates == templates:
            return known.expected
        made = expand(bundle.name, bundle.spec, templates)
        self._known[bundle.uid] = _Known(bundle.document, templates, made)
        for oldest in list(self._known)[:-MOST]:
            self._known.pop(oldest, None)
        return made
