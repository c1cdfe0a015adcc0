"""What a driver tells of a card, as the devices that a node reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from resources.devices import Device
from resources.selectors import spelling

GPU = "gpu"
GIB = 1 << 30
MAKERS = ("NVIDIA", "Tesla", "Quadro", "GeForce")
NO_LINKS: Mapping[str, str] = MappingProxyType({})


class Health(NamedTuple):
    """Why a card is not to be used; well where there is no reason."""

    reason: str = ""

    @property
    def well(self) -> bool:
        return not self.reason


class Part(NamedTuple):
    """A MIG instance."""

    id: str
    product: str
    memory: int | None = None


class Card(NamedTuple):
    """What is not known is None. `parts` None: it is used as a whole; without any it is cut up, and has none yet."""

    id: str
    product: str = ""
    bus: str = ""
    memory: int | None = None
    numa: int | None = None
    architecture: str | None = None
    capability: str | None = None
    cuda_major: int | None = None
    mig_capable: bool = False
    parts: tuple[Part, ...] | None = None
    health: Health = Health()
    links: Mapping[str, str] = NO_LINKS
    """Other cards by id: NV, PIX, PXB, PHB, NODE or SYS."""


def devices_of(cards: Iterable[Card]) -> list[Device]:
    """Whole cards, and the parts of those that are cut up."""
    return [device for card in cards for device in _devices(card)]


def model_of(product: str) -> str:
    """`NVIDIA A100-SXM4-80GB` is an A100: the first word with a digit, up to a hyphen."""
    words = [word for word in product.split() if word not in MAKERS]
    return next((word.partition("-")[0] for word in words if any(map(str.isdigit, word.partition("-")[0]))), product)


def _devices(card: Card) -> Iterator[Device]:
    told = {
        "gpuProduct": card.product or None,
        "gpuModel": model_of(card.product) or None,
        "vramGiB": _gib(card.memory),
        "numaNode": card.numa,
        "architecture": card.architecture,
        "computeCapability": card.capability,
        "migCapable": card.mig_capable,
        "cuda.driver.major": card.cuda_major,
    }
    well = card.health.well
    if not card.parts:
        whole = card.parts is None
        yield Device(card.id, GPU, _spelled(told), healthy=well, bookable=whole, numa=card.numa, links=dict(card.links))
        return
    for part in card.parts:
        own = told | {"gpuProduct": part.product, "vramGiB": _gib(part.memory), "migProfile": part.product.split()[-1]}
        yield Device(part.id, GPU, _spelled(own), healthy=well, numa=card.numa, parent=card.id)


def _gib(memory: int | None) -> int | None:
    return None if memory is None else round(memory / GIB)


def _spelled(told: Mapping[str, str | int | bool | None]) -> dict[str, str]:
    return {name: spelling(value) for name, value in told.items() if value is not None}
