"""Which jobs of a copy belong on one node and which must not meet there, as a bundle's rules add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from resources.bundle import BundleSpec
from resources.job_entry import JobEntry
from resources.validation import FieldError


def groups(spec: BundleSpec) -> dict[str, frozenset[str]]:
    """Job name to all jobs that share its node, itself among them.

    `coLocateWith` binds both sides and chains; `sameNodeDefault` chains the entries that state neither rule.
    """
    members = {entry.job_name: frozenset({entry.job_name}) for entry in spec.jobs}
    for one, other in _bonds(spec):
        joined = members[one] | members[other]
        members.update(dict.fromkeys(joined, joined))
    return members


def apart(spec: BundleSpec) -> dict[str, frozenset[str]]:
    """Job name to the jobs that must not share its node; naming one side binds both."""
    pairs = [(entry.job_name, other) for entry in spec.jobs for other in entry.separate_from]
    both = pairs + [(other, one) for one, other in pairs]
    return {entry.job_name: frozenset(b for a, b in both if a == entry.job_name) for entry in spec.jobs}


def problems(spec: BundleSpec, ports: Mapping[str, tuple[str, ...]]) -> Iterator[FieldError]:
    """Rules that no node can keep: a group that is told to part, and a group that wants one port twice.

    `ports` are the host ports of each job by name, templates included.
    """
    together = groups(spec)
    for index, entry in enumerate(spec.jobs):
        for other in entry.separate_from:
            if other in together[entry.job_name]:
                chain = " → ".join(_chain(spec, entry.job_name, other))
                yield FieldError(f"spec.jobs[{index}].separateFrom", f'"{other}" shares a node with this job: {chain}')
        yield from _taken_ports(spec, index, entry, together, ports)


def _taken_ports(
    spec: BundleSpec,
    index: int,
    entry: JobEntry,
    together: Mapping[str, frozenset[str]],
    ports: Mapping[str, tuple[str, ...]],
) -> Iterator[FieldError]:
    for earlier in spec.jobs[:index]:
        if earlier.job_name not in together[entry.job_name]:
            continue
        for port in ports.get(entry.job_name, ()):
            if port in ports.get(earlier.job_name, ()):
                where = f"spec.jobs[{index}].requirements.requiredHostPorts"
                yield FieldError(where, f'{port} is taken by "{earlier.job_name}", which shares the node')


def _bonds(spec: BundleSpec) -> Iterator[tuple[str, str]]:
    for entry in spec.jobs:
        for other in entry.co_locate_with:
            yield entry.job_name, other
    if spec.intra_replica_placement.same_node_default:
        free = [entry.job_name for entry in spec.jobs if not entry.co_locate_with and not entry.separate_from]
        yield from pairwise(free)


def _chain(spec: BundleSpec, start: str, end: str) -> list[str]:
    """The shortest way along the bonds, for a message."""
    neighbours: dict[str, list[str]] = {}
    for one, other in _bonds(spec):
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    paths = [[start]]
    for path in paths:
        if path[-1] == end:
            return path
        paths += [[*path, name] for name in neighbours.get(path[-1], ()) if all(name not in known for known in paths)]
    return [start, end]
