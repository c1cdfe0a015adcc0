"""The shipped examples are manifests that the product takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from resources.bundle import BundleSpec
from resources.registry import BY_NAME
from resources.validation import parse
from tests.architecture.tree import ROOT, shown

EXAMPLES = sorted((ROOT / "cli" / "examples").glob("*.yaml"))
DATA = ROOT / "tests" / "data"
EXPECTATION = re.compile(r"[A-Z]\w*(=(True|False|Unknown))?(/[A-Z]\w*)?")


def documents(path: Path) -> list[dict[str, Any]]:
    return list(YAML(typ="safe", pure=True).load_all(path.read_text(encoding="utf-8")))


def bundles() -> dict[str, BundleSpec]:
    every = [document for path in EXAMPLES for document in documents(path) if document["kind"] == "bundle"]
    return {document["metadata"]["name"]: parse(BundleSpec, document["spec"]) for document in every}


@pytest.mark.parametrize("path", [*EXAMPLES, DATA / "seed-fleet.yaml"], ids=shown)
def test_every_document_is_valid(path: Path) -> None:
    for document in documents(path):
        assert document["apiVersion"] == "rmctl/v1"
        parse(BY_NAME[document["kind"]].spec, document["spec"])


@pytest.mark.parametrize("path", EXAMPLES, ids=shown)
def test_every_example_says_what_to_expect(path: Path) -> None:
    for document in documents(path):
        assert EXPECTATION.fullmatch(document["metadata"]["annotations"]["rmctl/expect"])


def test_the_examples_share_one_pool_and_no_port_of_a_node() -> None:
    """Each may be applied on its own once the fleet is there."""
    ports = [
        port for spec in bundles().values() for job in spec.jobs for port in job.requirements.required_host_ports or ()
    ]
    assert {spec.pool for spec in bundles().values()} == {"local"}
    assert len(set(ports)) == len(ports)


def test_programs_of_the_examples_compile() -> None:
    commands = [job.command for spec in bundles().values() for job in spec.jobs if job.command]
    programs = [command[-1] for command in commands if command[0] == "python3" and "-c" in command]
    assert len(programs) == 2
    for program in programs:
        compile(program, "example", "exec")


def test_the_seed_bundle_is_a_bundle_once_its_id_is_its_name() -> None:
    seed = json.loads((DATA / "seed-channel.json").read_text(encoding="utf-8"))
    name = seed.pop("bundleId")
    spec = parse(BundleSpec, seed)
    pools = {document["metadata"]["name"] for document in documents(DATA / "seed-fleet.yaml")}
    assert (name, spec.replica_count) == ("my-channel-1", 2)
    assert {spec.pool, spec.resilience_policy.pool if spec.resilience_policy else None} <= pools
