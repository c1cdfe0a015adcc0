"""The placers that exist: one line each."""

from __future__ import annotations

from controllers.placers.contract import Placer
from controllers.placers.inline import Inline
from controllers.placers.pool_lease import PoolLease

PLACERS: dict[str, Placer] = {placer.id: placer for placer in (Inline(), PoolLease())}
