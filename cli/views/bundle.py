"""A bundle: how many of its jobs run, and what it was asked to be."""

from __future__ import annotations

from cli.views.wire import Document, Fact, Row, World, metadata, ready, spec, status


def row(bundle: Document, world: World) -> Row:
    """Its Ready message counts the jobs; of a dormant one it names the command that starts it."""
    message = ready(bundle).message
    return Row(str(spec(bundle).get("pool") or "-"), message.removeprefix("is dormant: "))


def facts(bundle: Document, world: World) -> list[Fact]:
    found, asked = status(bundle), spec(bundle)
    generation, observed = metadata(bundle).get("generation", 0), found.get("observedGeneration", 0)
    policy = asked.get("resiliencePolicy")
    rows = [
        Fact("Generation", f"{generation}, observed {observed}"),
        Fact("State", str(found.get("state", "-"))),
        Fact("Pool", str(asked.get("pool", "-"))),
        Fact("Copies", "primary and backup" if policy is not None else "primary only"),
    ]
    rollout = found.get("rollout") or {}
    if rollout.get("phase", "idle") != "idle":
        rows.append(
            Fact("Roll-out", f"{rollout['phase']}, {rollout.get('updated', 0)} of {rollout.get('total', 0)} updated")
        )
    if isinstance(policy, dict):
        kept = [f"{flag} {policy[flag]}" for flag in ("sameNode", "sameAz", "sameCloud") if flag in policy]
        elsewhere = [f"pool {policy['pool']}"] if policy.get("pool") else []
        rows.append(Fact("Backup", ", ".join([*elsewhere, *kept]) or "anywhere"))
    broken = found.get("broken")
    if isinstance(broken, dict):
        rows.append(Fact("Broken", f"since {broken.get('since')}, by {broken.get('job')}"))
    return rows
