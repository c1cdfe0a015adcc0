"""A pool: how many nodes, how much of them is claimed, how many jobs wait."""

from __future__ import annotations

from cli.views.wire import Document, Fact, Row, World, count, metadata, number, ready, spec, status, whole


def row(pool: Document, world: World) -> Row:
    state = ready(pool)
    if state.status != "True" and state.message:
        return Row("-", state.message)
    return Row("-", tally(pool))


def tally(pool: Document) -> str:
    """`3 nodes, 4 of 12 vcpu claimed, 1 job waits`."""
    found = status(pool)
    parts = [count(whole(found.get("nodeCount")), "node")]
    if found.get("totalCapacity"):
        parts.append(f"{number(found.get('claimedCapacity', 0))} of {number(found['totalCapacity'])} vcpu claimed")
    spend = (found.get("spend") or {}).get("perHour")
    if spend:
        parts.append(f"${spend:.2f}/h")
    waiting = whole(found.get("waitingJobs"))
    if waiting:
        parts.append(f"{count(waiting, 'job')} {'waits' if waiting == 1 else 'wait'}")
    return ", ".join(parts)


def sentence(pool: Document, world: World) -> str:
    """The predicate of line one, without the name."""
    state = ready(pool)
    match state.reason:
        case "-":
            return "has not been looked at since it was last changed."
        case "HasCapacity":
            return f"has capacity: {tally(pool)}."
        case "NoNodes":
            return f"has no nodes{': ' + state.message.rstrip('.') if state.message else ''}."
        case _:
            return f"is {state.reason}{': ' + state.message.rstrip('.') if state.message else ''}."


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
