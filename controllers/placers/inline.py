"""The inline placer: each reservation is planned by its own pass, and answered at once."""

from __future__ import annotations

from collections.abc import Sequence

from controllers import reserving
from controllers.placers.contract import Context, Outcome, Pending, Placed
from controllers.runtime.decision import Reserve
from placement import Placed as Place
from placement import Request
from placement.gang import gang
from placement.staying import Seat, stay
from resources.reservation import Reservation


class Inline:
    id = "inline"

    def place(self, asked: Reservation, context: Context) -> Outcome:
        request = reserving.request_of(asked, context.now, context.excluded)
        wanted = asked.spec.gang
        answer = gang(
            request,
            context.fleet,
            context.policy,
            size=1 if wanted is None else wanted.size,
            domain="" if wanted is None else wanted.domain,
            seed=context.seed,
        )
        if not answer.members:
            return Pending(answer.reason)
        return _placed(asked, request, answer.members, context)


def stayed(asked: Reservation, seats: Sequence[Seat], context: Context) -> Placed | None:
    """Booked anew where it is; None where it does not fit there any more, or is nowhere yet."""
    if not seats:
        return None
    request = reserving.request_of(asked, context.now, context.excluded)
    members = stay(request, context.fleet, context.policy, seats)
    return _placed(asked, request, members, context) if members else None


def _placed(asked: Reservation, request: Request, members: Sequence[Place], context: Context) -> Placed:
    made = tuple(
        reserving.allocation(asked, placed, number, context.fleet, context.now) for number, placed in enumerate(members)
    )
    return Placed(made, tuple(Reserve(one, labels=request.labels) for one in made))
