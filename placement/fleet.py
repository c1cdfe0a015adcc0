"""The fleet view: every node and claim of the server, kept up to date by its writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from placement.index import PoolIndex
from placement.node import Claim, NodeView

_NO_CLAIMS: Mapping[str, Claim] = {}
_NOWHERE: Mapping[str, str] = {}


class FleetView:
    """Nodes by pool and claims by allocation; callers guard it with a lock.

    Writes come in any order: a claim may precede its node and outlive it. The values inside are never changed in
    place, so a copy costs a few dictionaries and a plan made from one keeps what it saw.
    """

    __slots__ = ("_claims", "_held", "_indexes", "_nodes", "_on", "_owners", "_pool_revisions", "_pools", "revision")

    def __init__(self) -> None:
        self._nodes: dict[str, NodeView] = {}
        self._pools: dict[str, dict[str, NodeView]] = {}
        self._claims: dict[str, Claim] = {}
        self._on: dict[str, Mapping[str, Claim]] = {}
        self._owners: dict[str, Mapping[str, str]] = {}
        self._held: dict[str, Mapping[str, Claim]] = {}
        """By holder, the claims of reservations that are meant for him."""
        self._pool_revisions: dict[str, int] = {}
        self._indexes: dict[str, PoolIndex] = {}
        self.revision = 0

    def put_node(self, node: NodeView) -> None:
        """Add or replace a node's facts; its claims are the ones put here, whatever the argument carries.

        The same facts again are no write.
        """
        claims = self._on.get(node.name, _NO_CLAIMS)
        new = node if node.claims == claims else node.with_claims(claims)
        old = self._nodes.get(node.name)
        if old == new:
            return
        if old is not None and old.pool != node.pool:
            self._leave(old)
        self._enter(new)

    def remove_node(self, name: str) -> None:
        """Forget a node's facts; its claims stay until they are dropped. Unknown names are ignored."""
        node = self._nodes.get(name)
        if node is not None:
            self._leave(node)

    def put_claim(self, claim: Claim) -> None:
        """Add a claim, or replace the one of the same allocation, also if that stood on another node."""
        self.drop_claim(claim.allocation)
        self._claims[claim.allocation] = claim
        owned = self._owners.get(claim.owner, _NOWHERE)
        self._owners[claim.owner] = {**owned, claim.allocation: claim.node}
        if claim.holder is not None:
            self._held[claim.holder] = {**self._held.get(claim.holder, _NO_CLAIMS), claim.allocation: claim}
        self._set_claims(claim.node, {**self._on.get(claim.node, _NO_CLAIMS), claim.allocation: claim})

    def drop_claim(self, allocation: str) -> None:
        """Give back what an allocation holds. Unknown ones are ignored."""
        claim = self._claims.pop(allocation, None)
        if claim is None:
            return
        owned = {key: node for key, node in self._owners[claim.owner].items() if key != allocation}
        if owned:
            self._owners[claim.owner] = owned
        else:
            del self._owners[claim.owner]
        if claim.holder is not None:
            held = self._held[claim.holder]
            self._held[claim.holder] = {key: other for key, other in held.items() if key != allocation}
        rest = {key: other for key, other in self._on[claim.node].items() if key != allocation}
        self._set_claims(claim.node, rest)

    @contextmanager
    def without(self, allocations: Iterable[str]) -> Iterator[FleetView]:
        """The view less some claims, for the time of a question; cheaper than a copy, and the indexes serve it."""
        held = [claim for claim in map(self.claim, allocations) if claim is not None]
        for claim in held:
            self.drop_claim(claim.allocation)
        try:
            yield self
        finally:
            for claim in held:
                self.put_claim(claim)

    def node(self, name: str) -> NodeView | None:
        return self._nodes.get(name)

    def claim(self, allocation: str) -> Claim | None:
        return self._claims.get(allocation)

    def pool(self, name: str) -> tuple[NodeView, ...]:
        """The pool's nodes by name."""
        members = self._pools.get(name, {})
        return tuple(members[key] for key in sorted(members))

    def nodes_of(self, owner: str) -> tuple[str, ...]:
        """Names of the nodes that hold a claim of this owner, sorted."""
        return tuple(sorted(set(self._owners.get(owner, _NOWHERE).values())))

    def held_for(self, holders: Iterable[str]) -> tuple[Claim, ...]:
        """Claims of reservations that are meant for one of these, by allocation."""
        found = {name: claim for holder in holders for name, claim in self._held.get(holder, _NO_CLAIMS).items()}
        return tuple(found[name] for name in sorted(found))

    def pool_revision(self, name: str) -> int:
        """The view's revision at the last write that touched this pool; 0 if none did."""
        return self._pool_revisions.get(name, 0)

    def index(self, pool: str) -> PoolIndex:
        """The pool's index, made when it is first asked for and told of every write from then on."""
        if pool not in self._indexes:
            self._indexes[pool] = PoolIndex(self._pools.setdefault(pool, {}))
        return self._indexes[pool]

    def copy(self) -> FleetView:
        """An independent view of the same state, for what-if questions. It makes indexes of its own."""
        twin = FleetView()
        twin._nodes = dict(self._nodes)
        twin._pools = {name: dict(members) for name, members in self._pools.items()}
        twin._claims = dict(self._claims)
        twin._on = dict(self._on)
        twin._owners = dict(self._owners)
        twin._held = dict(self._held)
        twin._pool_revisions = dict(self._pool_revisions)
        twin.revision = self.revision
        return twin

    def __eq__(self, other: object) -> bool:
        """Same nodes and claims; how they came there does not count."""
        if not isinstance(other, FleetView):
            return NotImplemented
        return self._nodes == other._nodes and self._claims == other._claims

    __hash__ = None  # type: ignore[assignment]

    def _set_claims(self, name: str, claims: Mapping[str, Claim]) -> None:
        if claims:
            self._on[name] = claims
        else:
            self._on.pop(name, None)
        node = self._nodes.get(name)
        if node is None:
            self.revision += 1
        else:
            self._enter(node.with_claims(claims))

    def _enter(self, node: NodeView) -> None:
        self._nodes[node.name] = node
        self._pools.setdefault(node.pool, {})[node.name] = node
        self._touch(node)

    def _leave(self, node: NodeView) -> None:
        del self._nodes[node.name]
        members = self._pools[node.pool]
        del members[node.name]
        self._touch(node)

    def _touch(self, node: NodeView) -> None:
        self.revision += 1
        self._pool_revisions[node.pool] = self.revision
        index = self._indexes.get(node.pool)
        if index is not None:
            index.touch(node.name)
