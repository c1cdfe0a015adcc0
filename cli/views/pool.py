"""A pool: its tiers, and how much of them is claimed."""

from __future__ import annotations

from cli.views.wire import Document, Fact, Row, World, metadata, number, ready, spec, status, whole


def row(pool: Document, world: World) -> Row:
    """Its Ready message counts nodes, claims and jobs that wait."""
    return Row("-", ready(pool).message)


def facts(pool: Document, world: World) -> list[Fact]:
    generation, observed = metadata(pool).get("generation", 0), status(pool).get("observedGeneration", 0)
    rows = [Fact("Generation", f"{generation}, observed {observed}"), Fact("Ranking", _ranking(pool))]
    tiers = {tier.get("name"): tier for tier in status(pool).get("tiers") or ()}
    for tier in spec(pool).get("tiers") or ():
        found = tiers.get(tier.get("name"), {})
        kind = f"{tier.get('kind')}, {tier.get('scaleOut')}, {tier.get('packingStrategy', 'binpack')}"
        free = f", {number(found['freeCapacity'])} vcpu free" if "freeCapacity" in found else ""
        rows += [Fact(f"Tier {tier.get('name')}", kind), Fact("Nodes", f"{whole(found.get('nodes'))}{free}")]
    return rows


def _ranking(pool: Document) -> str:
    ranking = spec(pool).get("ranking", "lexicographic")
    return ranking if isinstance(ranking, str) else "custom"
