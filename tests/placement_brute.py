"""The placer again, written from its description in the plainest way: the judge of the real one."""

from __future__ import annotations

from fractions import Fraction

from tests.placement_devices import device_shares, devices_of, granted, topology
from tests.placement_windows import ALL, look_into, most, near_by, there

SCALE = 1 << 20


def judge(world, request):
    """(answer, counts by reason): answers as plain tuples, counts only where the answer is no."""
    if world.policy.archived:
        return ("no", "the pool is archived"), {}
    nodes = [node for node in world.nodes if node.pool == request.pool]
    limits = [True, False] if request.role == "backup" and any(request.forbid) else [False]
    for compliant in limits:
        answer = in_reservation(world, request, nodes, compliant) or cascade(world, request, nodes, compliant)
        if answer is not None:
            return answer, {}
    if not nodes:
        return ("no", "the pool has no nodes"), {}
    told = {}
    for node in nodes:
        reason = why_not(world, forgiven(request), node) or f"tier: tier {node.tier}"
        told[reason] = told.get(reason, 0) + 1
    groups = sorted(told.items(), key=lambda item: (-item[1], item[0]))[:5]
    sentence = "; ".join(f"{count} × {reason}" for reason, count in groups)
    return ("no", f"no node fits ({len(nodes)} nodes): {sentence}"), told


def in_reservation(world, request, nodes, compliant):
    asked, fit = forgiven(request), []
    for node, uid, end, look in look_into(world, request, nodes):
        tier = tier_of(world, node)
        broken = flags(request, node.name, node.zone, node.cloud)
        if tier is None or why_not(world, asked, node, look) is not None or (compliant and broken):
            continue
        rank = [-value for value in key(world, asked, node, tier, look)]
        atoms = granted(world, asked, node, tier, look)
        fit.append((rank, node.name, uid, end, ("placed", node.name, tier.name, broken, atoms, (uid, end))))
    return min(fit, key=lambda one: one[:3])[4] if fit else None


def cascade(world, request, nodes, compliant):
    for tier in world.policy.tiers:
        best = best_of(world, request, [node for node in nodes if node.tier == tier.name], tier, compliant)
        if best is not None:
            return best
        machine = machine_of(world, request, nodes, tier, compliant)
        if machine is not None:
            return second_chance(world, request, nodes, compliant) or machine
    return second_chance(world, request, nodes, compliant)


def second_chance(world, request, nodes, compliant):
    for tier in world.policy.tiers:
        again = [
            n for n in nodes if n.tier == tier.name and n.name in request.second_chance and n.name in request.excluded
        ]
        best = best_of(world, forgiven(request), again, tier, compliant)
        if best is not None:
            return best
    return None


def forgiven(request):
    class Forgiven:
        def __getattr__(self, name):
            if name == "excluded":
                return {node: why for node, why in request.excluded.items() if node not in request.second_chance}
            return getattr(request, name)

    return Forgiven()


def best_of(world, request, nodes, tier, compliant):
    fit = []
    for node in nodes:
        broken = flags(request, node.name, node.zone, node.cloud)
        if why_not(world, request, node) is None and not (compliant and broken):
            fit.append((key(world, request, node, tier), node.name, broken))
    if not fit:
        return None
    fit.sort(key=lambda entry: ([-value for value in entry[0]], entry[1]))
    _, name, broken = fit[0]
    node = next(node for node in nodes if node.name == name)
    return ("placed", name, tier.name, broken, granted(world, request, node, tier), None)


def flags(request, name, zone, cloud):
    if request.role != "backup":
        return ()
    told = []
    if name in request.forbid.nodes:
        told.append("sameNode")
    if zone in request.forbid.zones:
        told.append("sameAz")
    if cloud in request.forbid.clouds:
        told.append("sameCloud")
    return tuple(told)


def tier_of(world, node):
    return next((tier for tier in world.policy.tiers if tier.name == node.tier), None)


def on(world, node):
    return [claim for claim in world.claims if claim.node == node.name]


def used(world, request, node, at, look=ALL):
    return most(there(world, request, node, look), request, look, lambda claim: claim.amounts[at])


def room(world, request, node, at, look):
    return near_by(node.capacity[at], used(world, request, node, at, look), look.amounts[at])


def fresh_spare(world, node):
    return node.spare is not None and not node.spare.consumed and not on(world, node)


def placed_peers(world, owners, me):
    return sorted({claim.owner for claim in world.claims if claim.owner in owners and claim.owner != me})


def say(owner):
    return owner.split("/", 1)[1].replace(".", "/")


def why_not(world, request, node, look=ALL):  # noqa: C901  as long as the list it follows
    me, group = request.owner, set(request.together)
    if request.pin is not None and node.name != request.pin:
        return f"pin: pinned to {request.pin}"
    if node.tier not in [tier.name for tier in world.policy.tiers]:
        return f"tier: tier {node.tier}"
    if node.name in request.excluded:
        return f"excluded: {request.excluded[node.name]}"
    for reason in node.no_schedule:
        if reason != f"dedicated={request.tenant}":
            return reason
    held_back = fresh_spare(world, node) and node.spare.exclusive and not request.override_reservation
    if held_back and request.template not in node.spare.reserved_for:
        return "reserved: reserved for " + ", ".join(node.spare.reserved_for)
    for wanted, value in request.labels.items():
        given = node.labels.get(wanted)
        if given is not None and wanted.startswith("rmctl/") and given[1] != "system":
            given = None
        if given is None or (value != "*" and given[0] != value):
            return f"labels: {wanted}" if value == "*" else f"labels: {wanted}={value}"
    asked = request.room or request.amounts
    for at, (name, unit) in enumerate((("vcpu", 1000), ("cores", 1), ("memory", 1))):
        free = room(world, request, node, at, look) - used(world, request, node, at, look)
        if asked[at] > 0 and asked[at] > free:
            short = Fraction(max(0, free), unit)
            return f"fits: {float(short):g} of {float(Fraction(asked[at], unit)):g} {name} free"
    here = there(world, request, node, look)
    taken = [port for claim in here for port in claim.ports]
    for port in [*request.ports, *request.group_ports]:
        if port in taken:
            return f"ports: {port} taken"
    atoms = devices_of(world, request, node, tier_of(world, node), look)
    if isinstance(atoms, str):
        return atoms
    strangers = [claim for claim in here if claim.owner != me and claim.owner not in group]
    holders = sorted(claim.owner for claim in strangers if claim.exclusive)
    if holders:
        return f"exclusive: held by {say(holders[0])}"
    if request.exclusive and strangers:
        return "exclusive: other jobs are here"
    apart = sorted(claim.owner for claim in here if claim.owner in request.separate)
    if apart:
        return f"separate: {say(apart[0])} is here"
    mates = placed_peers(world, group, me)
    if mates and not any(claim.owner in mates for claim in on(world, node)):
        first = min(claim.node for claim in world.claims if claim.owner == mates[0])
        return f"together: {say(mates[0])} is on {first}"
    if request.same_zone == "hard":
        for peer, zones in peer_zones(world, request):
            if node.zone not in zones:
                return f"zone: {say(peer)} is in {min(zones) or 'no zone'}"
    return None


def peer_zones(world, request):
    found = []
    for peer in placed_peers(world, request.peers, request.owner):
        homes = {claim.node for claim in world.claims if claim.owner == peer}
        zones = {node.zone for node in world.nodes if node.name in homes}
        if zones:
            found.append((peer, zones))
    return found


def key(world, request, node, tier, look=ALL):
    asked = request.room or request.amounts
    shares = [
        Fraction(used(world, request, node, at, look) + asked[at], room(world, request, node, at, look))
        for at in range(3)
        if asked[at] > 0
    ]
    shares += device_shares(world, request, node, look)
    full = int(sum(shares) / len(shares) * SCALE)
    spare = fresh_spare(world, node)
    near = {zone for _, zones in peer_zones(world, request) for zone in zones} - {""}
    held = len(request.images & node.images)
    measures = {
        "resilience": int(Fraction(3 - len(flags(request, node.name, node.zone, node.cloud)), 3) * SCALE),
        "booted": SCALE * node.booted,
        "avoid_spare": SCALE * (not (spare and request.spare == "avoid")),
        "warmth": int(Fraction(held, len(request.images)) * SCALE) if request.images else 0,
        "reservation": SCALE * bool(spare and request.template and request.template in node.spare.reserved_for),
        "prefer_spare": SCALE * (spare and request.spare == "prefer"),
        "packing": full if tier.packing == "binpack" else SCALE - full,
        "same_zone": SCALE * (request.same_zone == "soft" and node.zone in near),
    }
    mine = [claim for claim in on(world, node) if request.tenant is not None and claim.tenant == request.tenant]
    measures["topology"] = topology(world, request, node, tier, look)
    measures["spread"] = int(Fraction(1, 1 + len(mine)) * SCALE)
    return [sum(weight * measures[name] for name, weight in level) for level in world.policy.ranking.levels]


def machine_of(world, request, nodes, tier, compliant):
    if not tier.elastic or not world.policy.provisioning or request.pin is not None:
        return None
    if placed_peers(world, request.together, request.owner):
        return None
    if tier.max_nodes is not None and sum(node.tier == tier.name for node in nodes) >= tier.max_nodes:
        return None
    zones = list(tier.zones)
    if request.same_zone == "hard" and peer_zones(world, request):
        wanted = set.intersection(*(found for _, found in peer_zones(world, request)))
        zones = [zone for zone in tier.zones if zone in wanted] if tier.zones else sorted(wanted)
        if not zones:
            return None
    asked = request.room or request.amounts
    for shape in tier.shapes:
        if (
            request.devices
            or request.group_devices
            or any(want > have for want, have in zip(asked, shape.capacity, strict=True))
        ):
            continue
        if any(shape.labels.get(k) is None or v not in ("*", shape.labels[k]) for k, v in request.labels.items()):
            continue
        broken = ()
        if request.role == "backup" and (request.forbid.zones or request.forbid.clouds):
            free = [zone for zone in zones if zone not in request.forbid.zones]
            broken = flags(request, None, (free or zones or [None])[0], tier.kind)
            zones = free or zones
        return None if compliant and broken else ("machine", tier.name, shape.instance_type, tuple(zones), broken)
    return None
