"""Where a job goes: a pure placer over a view of the fleet."""

from placement.amounts import NOTHING, Amounts
from placement.answers import Answer, Placed, Plan, Provision, Ranked, TierOutcome, Unschedulable
from placement.boards import WHOLE, Atom, Board, board
from placement.bookings import Granted, claim_for
from placement.devices import Ask
from placement.errors import InvalidRequest, PlacementError
from placement.filters import Rejection
from placement.fleet import FleetView
from placement.node import Claim, NodeView, Spare, in_order
from placement.policy import PoolPolicy, Shape, TierPolicy
from placement.ranking import LEXICOGRAPHIC, WEIGHTED, Ranking, ranking_from
from placement.request import Forbid, Request, capability_labels, driver_label, spoken
from placement.shortcut import place
from placement.survey import plan

__all__ = [
    "LEXICOGRAPHIC",
    "NOTHING",
    "WEIGHTED",
    "WHOLE",
    "Amounts",
    "Answer",
    "Ask",
    "Atom",
    "Board",
    "Claim",
    "FleetView",
    "Forbid",
    "Granted",
    "InvalidRequest",
    "NodeView",
    "Placed",
    "PlacementError",
    "Plan",
    "PoolPolicy",
    "Provision",
    "Ranked",
    "Ranking",
    "Rejection",
    "Request",
    "Shape",
    "Spare",
    "TierOutcome",
    "TierPolicy",
    "Unschedulable",
    "board",
    "capability_labels",
    "claim_for",
    "driver_label",
    "in_order",
    "place",
    "plan",
    "ranking_from",
    "spoken",
]
