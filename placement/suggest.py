"""The smallest changes that would give a refused job a place, each confirmed by a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from placement import relaxing
from placement.amounts import RESOURCES, Amounts, spell
from placement.answers import Answer, Placed, Unschedulable
from placement.filters import Rejection, refusal, refusals
from placement.fleet import FleetView
from placement.machines import misfit
from placement.newcomer import described, join_command, newcomer
from placement.node import Claim, NodeView
from placement.policy import PoolPolicy, TierPolicy
from placement.request import ANY_VALUE, CAPABILITY_PREFIX, DRIVER_PREFIX, Request, spoken
from placement.scene import scene_of
from placement.shortcut import place
from placement.survey import plan
from resources.instants import rfc3339

MOST = 5
TRIES = 8
"""How many changes of one kind are planned before that kind is given up."""


class Suggestion(NamedTuple):
    """Completes "would fit if …"; the command that makes it so, where one does."""

    text: str
    command: str | None = None


class Trial(NamedTuple):
    """A changed world to plan in. `open_place`: the text does not yet say where the place would be."""

    suggestion: Suggestion
    open_place: bool
    request: Request
    fleet: FleetView
    policy: PoolPolicy


class Study(NamedTuple):
    """A refused request, and for each node of the pool all that speaks against it."""

    request: Request
    fleet: FleetView
    policy: PoolPolicy
    nodes: tuple[tuple[NodeView, tuple[Rejection, ...]], ...]

    def trial(
        self,
        text: str,
        command: str | None = None,
        *,
        request: Request | None = None,
        fleet: FleetView | None = None,
        policy: PoolPolicy | None = None,
    ) -> Trial:
        asked, in_pool = request or self.request, policy or self.policy
        return Trial(Suggestion(text, command), request is not None, asked, fleet or self.fleet, in_pool)

    def edit(self) -> str:
        return f"rmctl edit bundle/{self.request.bundle}"


def would_fit(request: Request, fleet: FleetView, policy: PoolPolicy) -> tuple[Suggestion, ...]:
    """At most five changes, the cheapest first; empty if the job has a place or nothing small would help."""
    if policy.archived or not isinstance(place(request, fleet, policy).answer, Unschedulable):
        return ()
    study = study_of(request, fleet, policy)
    found: list[Suggestion] = []
    for proposals, most in PROPOSALS:
        confirmed = (suggestion for trial in islice(proposals(study), TRIES) if (suggestion := confirm(trial)))
        found.extend(islice(confirmed, most))
    return tuple(found[:MOST])


def study_of(request: Request, fleet: FleetView, policy: PoolPolicy) -> Study:
    scenes = {tier.name: scene_of(request, fleet, tier, policy.plugins) for tier in policy.tiers}
    nodes = (node for node in fleet.pool(request.pool) if node.tier in scenes)
    return Study(request, fleet, policy, tuple((node, refusals(request, node, scenes[node.tier])) for node in nodes))


def confirm(trial: Trial) -> Suggestion | None:
    """The suggestion if a plan finds a place, which it names where the text leaves it open."""
    answer = plan(trial.request, trial.fleet, trial.policy).answer  # an index for one question costs more than it
    if isinstance(answer, Unschedulable):
        return None
    text, command = trial.suggestion
    return Suggestion(f"{text}: {where(answer)}" if trial.open_place else text, command)


def where(answer: Answer) -> str:
    match answer:
        case Placed(node=node):
            return node
        case Unschedulable(reason=reason):
            return reason
        case _:
            return f"a new {answer.shape.instance_type} in {answer.tier}"


def uncordoned(study: Study) -> Iterator[Trial]:
    """Nodes that are only cordoned."""
    for node, against in study.nodes:
        if node.no_schedule == ("cordoned",) and [rejection.filter for rejection in against] == ["schedulable"]:
            fleet = study.fleet.copy()
            fleet.put_node(replace(node, no_schedule=()))
            yield study.trial(f"{node.name} was not cordoned", f"rmctl uncordon {node.name}", fleet=fleet)


def begun(study: Study) -> Iterator[Trial]:
    """A reservation that is meant for it and is still to come."""
    asked = study.request
    for claim in study.fleet.held_for(asked.holders):
        if claim.start is not None and asked.start is not None and claim.start > asked.start:
            text = f"its reservation {spoken(claim.owner)} had begun, at {rfc3339(claim.start)}"
            yield study.trial(text, request=replace(asked, start=claim.start, end=None))


def asking_less(study: Study) -> Iterator[Trial]:
    """The largest amounts that some node, or a machine that a tier may start, has room for."""
    rooms = [
        node.over(study.request).free
        for node, against in study.nodes
        if {rejection.filter for rejection in against} == {"fits"}
    ]
    if study.policy.provisioning:
        rooms += [shape.capacity for tier in study.policy.tiers if tier.elastic for shape in tier.shapes]
    asked = study.request.asked
    less = {Amounts(*(max(0, min(have, want)) for have, want in zip(room, asked, strict=True))) for room in rooms}
    who = "the job" if asked == study.request.amounts else "its group"
    for amounts in sorted(less, reverse=True):
        if any(want and have < 1 for have, want in zip(amounts, asked, strict=True)):
            continue
        told = " and ".join(
            f"{spell(resource, have)} {resource}"
            for resource, have, want in zip(RESOURCES, amounts, asked, strict=True)
            if have != want
        )
        own = Amounts(*(min(have, want) for have, want in zip(amounts, study.request.amounts, strict=True)))
        yield study.trial(
            f"{who} asked for {told}", study.edit(), request=replace(study.request, amounts=own, room=amounts)
        )


def asking_for_fewer(study: Study) -> Iterator[Trial]:
    """The most devices that some node has."""
    if any({rejection.filter for rejection in against} <= {"fits", "topology"} for _, against in study.nodes):
        for text, asked in relaxing.fewer(study.request):
            yield study.trial(text, study.edit(), request=asked)


def leaving(study: Study) -> Iterator[Trial]:
    """One other job less on one node, the smallest first."""
    curable = {"fits", "ports", "exclusive", "separate"}
    leavers: list[tuple[Amounts, str, NodeView, Claim]] = []
    for node, against in study.nodes:
        if not {rejection.filter for rejection in against} <= curable:
            continue
        tier = next(t for t in study.policy.tiers if t.name == node.tier)
        scene = scene_of(study.request, study.fleet, tier, study.policy.plugins)
        for allocation, claim in node.claims.items():
            rest = {key: other for key, other in node.claims.items() if key != allocation}
            if claim.owner not in study.request.allies and not refusal(study.request, node.with_claims(rest), scene):
                leavers.append((claim.amounts, allocation, node, claim))
    for _, allocation, node, claim in sorted(leavers, key=lambda leaver: leaver[:2]):
        fleet = study.fleet.copy()
        fleet.drop_claim(allocation)
        if claim.reservation is not None and not claim.inside:
            yield study.trial(*_unbooked(claim, study.request.start), fleet=fleet)
            continue
        wanted = next((port for port in study.request.asked_ports if port in claim.ports), None)
        held = f" (it holds {wanted})" if wanted else ""
        yield study.trial(f"{spoken(claim.owner)} left {node.name}{held}", fleet=fleet)


def _unbooked(claim: Claim, now: float | None) -> tuple[str, str]:
    """What a reservation holds from its begin on is in the way of a job before it: that has no end."""
    name = claim.owner.rpartition("/")[2]
    later = claim.start is not None and (now is None or claim.start > now)
    since = f" from {rfc3339(claim.start)} on" if later and claim.start is not None else ""
    return f"reservation {name} did not hold {claim.node}{since}", f"rmctl delete reservation/{name}"


def relaxed(study: Study) -> Iterator[Trial]:
    """One rule of the job's own given up."""
    request = study.request
    against = {rejection.filter for _, rejections in study.nodes for rejection in rejections}
    if "zone" in against:
        yield study.trial("sameAz was soft", study.edit(), request=replace(request, same_zone="soft"))
    if "exclusive" in against and request.exclusive:
        yield study.trial("it could share a node", study.edit(), request=replace(request, exclusive=False))
    if "separate" in against:
        for owner in sorted(request.separate):
            apart = replace(request, separate=request.separate - {owner})
            yield study.trial(f"it need not keep apart from {spoken(owner)}", study.edit(), request=apart)
    if "ports" in against:
        for port in request.asked_ports:
            ports, group = (tuple(p for p in some if p != port) for some in (request.ports, request.group_ports))
            without = replace(request, ports=ports, group_ports=group)
            yield study.trial(f"it did not ask for {port}", study.edit(), request=without)
    if "labels" in against:
        for key, value in request.labels.items():
            if key.startswith(DRIVER_PREFIX):
                continue
            labels = {name: want for name, want in request.labels.items() if name != key}
            asked = key.removeprefix(CAPABILITY_PREFIX) if value == ANY_VALUE else f"{key}={value}"
            yield study.trial(f"it did not ask for {asked}", study.edit(), request=replace(request, labels=labels))
    for rule, others in (("fits", relaxing.unselected(request)), ("topology", relaxing.apart(request))):
        for text, other in others if rule in against else ():
            yield study.trial(text, study.edit(), request=other)
    if "pin" in against:
        yield study.trial(f"it was not pinned to {request.pin}", request=replace(request, pin=None))
    if "reserved" in against:
        override = replace(request, override_reservation=True)
        yield study.trial("it could take a reserved spare", study.edit(), request=override)


def joining(study: Study) -> Iterator[Trial]:
    """A node of one's own added to the pool's fixed tier."""
    for tier in study.policy.tiers:
        if not tier.elastic:
            node = newcomer(study.request, study.fleet, tier)
            fleet = study.fleet.copy()
            fleet.put_node(node)
            yield study.trial(f"{described(node)} joined pool {node.pool}", join_command(node), fleet=fleet)


def growing(study: Study) -> Iterator[Trial]:
    """A tier that may start more machines, or larger ones."""
    asked = study.request.asked
    for tier in study.policy.tiers if study.policy.provisioning else ():
        nodes = sum(node.tier == tier.name for node, _ in study.nodes)
        if tier.max_nodes is not None and nodes >= tier.max_nodes:
            policy = _with_tier(study.policy, replace(tier, max_nodes=nodes + 1))
            yield study.trial(f"tier {tier.name} could have {nodes + 1} nodes", _edit_pool(study), policy=policy)
        short = next((shape.capacity for shape in tier.shapes if not shape.capacity.covers(asked)), None)
        if short is not None and all(misfit(study.request, shape) for shape in tier.shapes):
            told = " and ".join(
                f"{spell(resource, want)} {resource}"
                for resource, have, want in zip(RESOURCES, short, asked, strict=True)
                if have < want
            )
            larger = tuple(replace(shape, capacity=_at_least(shape.capacity, asked)) for shape in tier.shapes)
            policy = _with_tier(study.policy, replace(tier, shapes=larger))
            yield study.trial(f"tier {tier.name} offered {told} or more", _edit_pool(study), policy=policy)


def _with_tier(policy: PoolPolicy, changed: TierPolicy) -> PoolPolicy:
    tiers = tuple(changed if tier.name == changed.name else tier for tier in policy.tiers)
    return replace(policy, tiers=tiers)


def _edit_pool(study: Study) -> str:
    return f"rmctl edit pool/{study.request.pool}"


def _at_least(capacity: Amounts, asked: Amounts) -> Amounts:
    return Amounts(*(max(have, want) for have, want in zip(capacity, asked, strict=True)))


PROPOSALS: tuple[tuple[Callable[[Study], Iterator[Trial]], int], ...] = (
    (begun, 1),
    (uncordoned, 1),
    (asking_less, 1),
    (asking_for_fewer, 1),
    (leaving, 1),
    (joining, 1),
    (growing, 2),
    (relaxed, 2),
)
"""Kinds of change, the cheapest first, and how many of each are told."""
