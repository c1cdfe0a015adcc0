"""The pages say what the product takes: every field has its word, every manifest in them is valid."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from cli.settings import Cadence, Definitions, Placement, ServerSettings, Workflows
from resources.bundle import BundleSpec, ResiliencePolicy
from resources.job_entry import JobEntry, Probe, Requirements
from resources.node import NodeSpec
from resources.pool import PoolSpec, Tier
from resources.registry import BY_NAME
from resources.reservation import ReservationSpec
from resources.template import TemplateSpec
from resources.validation import parse
from tests.architecture.tree import ROOT

PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
MANIFEST = re.compile(r"(?:^ {4,}\S.*\n|^\n)+", re.MULTILINE)


def manifests() -> list[Any]:
    """Each manifest that stands indented in a page, with the page's name and its own."""
    found = []
    for page in PAGES:
        for block in MANIFEST.findall(page.read_text(encoding="utf-8")):
            _, start, rest = textwrap.dedent(block).partition("apiVersion: rmctl/v1\n")
            document = YAML(typ="safe", pure=True).load(start + rest.split("\nEND")[0]) if start else None
            if document:
                found.append(pytest.param(document, id=f"{page.name}:{document['metadata']['name']}"))
    return found


@pytest.mark.parametrize("document", manifests())
def test_manifests_in_the_pages_are_valid(document: dict[str, Any]) -> None:
    parse(BY_NAME[document["kind"]].spec, document["spec"])


@pytest.mark.parametrize(
    ("page", "model"),
    [
        ("bundles", BundleSpec),
        ("bundles", ResiliencePolicy),
        ("bundles", JobEntry),
        ("bundles", Requirements),
        ("bundles", Probe),
        ("pools", PoolSpec),
        ("pools", Tier),
        ("pools", TemplateSpec),
        ("nodes", NodeSpec),
        ("placement", ReservationSpec),
        ("settings", Cadence),
        ("settings", Placement),
        ("settings", Definitions),
        ("settings", Workflows),
        ("settings", ServerSettings),
    ],
)
def test_every_field_is_told(page: str, model: type[BaseModel]) -> None:
    """A template's fields are those of an entry, whose page it may lean on."""
    told = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    if model is TemplateSpec:
        told += (ROOT / "docs" / "bundles.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[A-Za-z]+", " ".join(re.findall(r"`([^`\n]+)`", told))))
    fields = {field.alias or name for name, field in model.model_fields.items()}
    assert fields - words == set()
