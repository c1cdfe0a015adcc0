"""The pool-lease placer: who looks for a place plans for the line before it too: a pool is read once a batch."""

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
        if context.leader is not None:
            return Queued(context.leader)
        return self._batch(asked, [one for one in context.line if one.spec.gang is None], context)

    def _batch(self, asked: Reservation, line: list[Reservation], context: Context) -> Outcome:
        """The oldest first, at most `max_batch`, itself among them; each takes its room before the next is planned."""
        others = [one for one in line if one.uid != asked.uid]
        turn = next((at for at, one in enumerate(line) if one.uid == asked.uid), len(others))
        turn = min(turn, context.scheduling.max_batch - 1)
        batch = [*others[:turn], asked, *others[turn:]][: context.scheduling.max_batch]
        scratch = context.fleet.copy()
        own: Outcome = Pending("nobody looked")
        claims: list[Reserve] = []
        wake: list[Ref] = []
        for one in batch:
            made = Inline().place(one, Context(scratch, context.policy, context.now, context.seed, context.excluded))
            if one.uid == asked.uid:
                own = made
            if isinstance(made, Placed):
                claims.extend(made.claims)
                for allocation in made.allocations:
                    scratch.put_claim(seen(allocation))
                if one.uid != asked.uid:
                    wake.append(one.ref)
        if claims:  # as long as there is room, the next batch has its turn
            wake += [one.ref for one in others if one not in batch][:1]
        if isinstance(own, Placed):
            return Placed(own.allocations, tuple(claims), tuple(wake))
        assert isinstance(own, Pending)
        return Pending(own.reason, tuple(claims), tuple(wake))
