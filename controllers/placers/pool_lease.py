"""The pool-lease placer: whoever has waited longest plans for the whole line, so that a pool is read once a batch."""

from __future__ import annotations

from controllers.placers.contract import Context, Outcome, Pending, Placed, Queued
from controllers.placers.inline import Inline
from controllers.runtime.decision import Reserve
from controllers.runtime.seen import seen
from resources.reference import Ref
from resources.reservation import Reservation


class PoolLease:
    """Gangs are placed inline: they need an answer at once, for all of them."""

    id = "pool-lease"

    def place(self, asked: Reservation, context: Context) -> Outcome:
        if asked.spec.gang is not None:
            return Inline().place(asked, context)
        line = [one for one in context.line if one.spec.gang is None]
        if line and line[0].uid != asked.uid:
            return Queued(line[0].ref)
        return self._batch(asked, line or [asked], context)

    def _batch(self, asked: Reservation, line: list[Reservation], context: Context) -> Outcome:
        """The oldest first, at most `max_batch`; each takes its room before the next is looked at."""
        most = context.scheduling.max_batch
        scratch = context.fleet.copy()
        own: Outcome = Pending("nobody looked")
        claims: list[Reserve] = []
        wake: list[Ref] = [one.ref for one in line[most : most + 1]]
        for one in line[:most]:
            made = Inline().place(one, Context(scratch, context.policy, context.now, context.seed, context.excluded))
            if one.uid == asked.uid:
                own = made
            if isinstance(made, Placed):
                claims.extend(made.claims)
                for allocation in made.allocations:
                    scratch.put_claim(seen(allocation))
                if one.uid != asked.uid:
                    wake.append(one.ref)
        if isinstance(own, Placed):
            return Placed(own.allocations, tuple(claims), tuple(wake))
        assert isinstance(own, Pending)
        return Pending(own.reason, tuple(claims), tuple(wake))
