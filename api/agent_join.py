"""Who a node is: known by its credential, or joining with a token that is spent for it."""

from __future__ import annotations

from dataclasses import dataclass

from api.agent_wire import Hello
from resources.reference import Ref
from store import credentials, resources
from store.tx import Tx

DEFAULT_POOL = "default"
LEAST_CREDENTIAL = 40
NOT_KNOWN = "the node's credential or join token is not valid"


@dataclass(frozen=True)
class Identified:
    """`joined` just now; `credential` is one made here for an agent that brought none."""

    joined: bool
    credential: str = ""


@dataclass(frozen=True)
class NotKnown:
    """Neither credential nor token says who this is; one text for all of it, whether the node exists or not."""

    node: str

    @property
    def text(self) -> str:
        return f"{NOT_KNOWN}; a token that is good once: rmctl node token {self.node}"


@dataclass(frozen=True)
class NotAllowed:
    """Known, and not for this."""

    text: str


def identified(tx: Tx, hello: Hello, spare_credential: str) -> Identified | NotKnown | NotAllowed:
    """The node's record stands once this says Identified; nothing is written otherwise."""
    owner = credentials.node_of(tx, hello.credential) if hello.credential else None
    if owner is not None:
        known = owner == hello.node
        return Identified(joined=False) if known else NotAllowed(f"this credential is not for node {hello.node}")
    refusal = _join(tx, hello)
    if refusal is not None:
        return refusal
    credentials.issue_node(tx, hello.credential or spare_credential, hello.node)
    return Identified(joined=True, credential="" if hello.credential else spare_credential)


def _join(tx: Tx, hello: Hello) -> NotKnown | NotAllowed | None:
    """Spend the token and make the node; None when that is done, and nothing is written otherwise."""
    token = credentials.join_token(tx, hello.join_token) if hello.join_token else None
    if token is None:
        return NotKnown(hello.node)
    if token.node != hello.node:
        return NotAllowed(f"this join token is not for node {hello.node}")
    if hello.credential and len(hello.credential) < LEAST_CREDENTIAL:
        return NotAllowed(f"a credential has {LEAST_CREDENTIAL} characters or more")
    if token.pool and hello.pool and token.pool != hello.pool:
        return NotAllowed(f"this join token is for pool {token.pool}, not {hello.pool}")
    ref = Ref("node", hello.node)
    pool = token.pool or hello.pool or DEFAULT_POOL
    known = resources.find(tx, ref)
    if known is not None and known.spec.pool != pool and (token.pool or hello.pool):
        return NotAllowed(f"node {hello.node} is in pool {known.spec.pool}, and stays there")
    if known is None and not resources.stands(tx, Ref("pool", pool)):
        return NotAllowed(f"pool {pool} does not exist")
    if not credentials.spend(tx, hello.join_token):
        return NotKnown(hello.node)
    if known is None:
        spec = {"pool": pool, "provider": "agent"} | ({"zone": hello.inventory.zone} if hello.inventory.zone else {})
        resources.create(tx, ref, spec, labels=_own(hello.inventory.labels) | token.labels)
    return None


def _own(labels: dict[str, str]) -> dict[str, str]:
    """Labels that an agent may give itself: the system's own are not among them."""
    return {key: value for key, value in labels.items() if not key.startswith("rmctl/")}
