"""Shape: what the file behind a kind says its manifests look like."""

from __future__ import annotations

from dataclasses import dataclass, field

from resources.canonical import Document


@dataclass(frozen=True)
class Shape:
    """`parts` are the JSON Schemas of spec and status, as a definition told them; two of one digest are the same."""

    kind: str
    digest: str
    parts: Document = field(compare=False)
    description: str = field(default="", compare=False)
