"""The inline placer: each reservation is planned by its own pass, and answered at once."""

from __future__ import annotations

from controllers import reserving
from controllers.placers.contract import Context, Outcome, Pending, Placed
from controllers.runtime.decision import Reserve
from placement.gang import gang
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
        made = tuple(
            reserving.allocation(asked, placed, number, context.fleet, context.now)
            for number, placed in enumerate(answer.members)
        )
        return Placed(made, tuple(Reserve(one, labels=request.labels) for one in made))
