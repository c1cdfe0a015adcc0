"""The GPUs of this machine as NVIDIA's management library tells of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import structlog

from agent.cards import Card, Health, Part

LIBRARY = "libnvidia-ml.so.1"
SYSFS = Path("/sys/bus/pci/devices")
MOST_EVENTS = 100
PROGRAMS_FAULT = frozenset({13, 31, 43, 45, 68, 109})
"""Xids that a program brings about on a card that is well."""
LEVELS = {10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
ARCHITECTURES = {
    2: "kepler", 3: "maxwell", 4: "pascal", 5: "volta", 6: "turing", 7: "ampere", 8: "ada", 9: "hopper",
    10: "blackwell", 13: "rubin",
}  # fmt: skip

Answer = TypeVar("Answer")

log = structlog.get_logger()


class Unreadable(Exception):
    """The library itself does not answer; no card is to be judged by that."""


class Nvml:
    """One conversation with the library. A card that it ever told of is told of again, sick, when it is gone."""

    def __init__(self, library: Any, sysfs: Path = SYSFS) -> None:
        self._library = library
        self._sysfs = sysfs
        self._known: dict[str, Card] = {}
        self._at: dict[int, str] = {}
        self._xids: dict[str, int] = {}
        self._events: Any = None
        self._listening: set[str] = set()

    @classmethod
    def open(cls, sysfs: Path = SYSFS) -> Nvml | None:
        """None on a machine without the library, or whose driver does not run."""
        try:
            ctypes.CDLL(LIBRARY)
            import pynvml  # noqa: PLC0415  seven thousand lines, for machines with such a card
        except (OSError, ImportError):
            return None
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            missing = (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
            if error.value not in missing:
                log.error("no GPU is reported", reason=str(error))
            return None
        return cls(pynvml, sysfs)

    def cards(self) -> list[Card]:
        """Every card by its place on the bus. Raises Unreadable."""
        try:
            count = self._library.nvmlDeviceGetCount()
            driver = self._ask(None, self._library.nvmlSystemGetCudaDriverVersion)
        except self._library.NVMLError as error:
            raise Unreadable(str(error)) from error
        self._hear()
        handles: dict[str, Any] = {}
        found: dict[str, Card] = {}
        for index in range(count):
            try:
                handle = self._library.nvmlDeviceGetHandleByIndex(index)
                name = _text(self._library.nvmlDeviceGetUUID(handle))
                self._at[index] = name
                self._listen(name, handle)
                found[name] = self._card(name, handle, driver)
                handles[name] = handle
            except self._library.NVMLError as error:
                self._lost(index, str(error), found)
        for name, card in self._known.items():
            if name not in found:
                found[name] = card._replace(health=Health("the driver tells of it no longer"))
        self._link(found, handles)
        self._known = found
        return sorted(found.values(), key=lambda card: (card.bus, card.id))

    def _lost(self, index: int, reason: str, found: dict[str, Card]) -> None:
        """A card that fails a question is as it was known, and sick."""
        name = self._at.get(index)
        if name is not None and name not in found:
            known = self._known.get(name, Card(name))
            found[name] = known._replace(health=Health(reason))
        elif name is None:
            log.error("a GPU cannot be told of", index=index, reason=reason)

    def _card(self, name: str, handle: Any, driver: int | None) -> Card:
        library = self._library
        bus = _bus(library.nvmlDeviceGetPciInfo(handle).busId)
        memory = self._ask(None, library.nvmlDeviceGetMemoryInfo, handle)
        capability = self._ask(None, library.nvmlDeviceGetCudaComputeCapability, handle)
        mig = self._ask(None, library.nvmlDeviceGetMigMode, handle)
        return Card(
            id=name,
            product=_text(library.nvmlDeviceGetName(handle)),
            bus=bus,
            memory=None if memory is None else memory.total,
            numa=self._numa(bus),
            architecture=ARCHITECTURES.get(self._ask(0, library.nvmlDeviceGetArchitecture, handle)),
            capability=None if capability is None else ".".join(map(str, capability)),
            cuda_major=None if driver is None else driver // 1000,
            mig_capable=mig is not None,
            parts=self._parts(handle) if mig is not None and mig[0] == library.NVML_DEVICE_MIG_ENABLE else None,
            health=self._health(name, handle),
        )

    def _health(self, name: str, handle: Any) -> Health:
        library = self._library
        if name in self._xids:
            return Health(f"Xid {self._xids[name]}")
        errors = self._ask(
            0,
            library.nvmlDeviceGetTotalEccErrors,
            handle,
            library.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            library.NVML_VOLATILE_ECC,
        )
        if errors:
            return Health(f"{errors} uncorrected memory errors")
        rows = self._ask(None, library.nvmlDeviceGetRemappedRows, handle)
        return Health("a bad row of memory could not be replaced" if rows is not None and rows[3] else "")

    def _parts(self, handle: Any) -> tuple[Part, ...]:
        library, found = self._library, []
        for index in range(self._ask(0, library.nvmlDeviceGetMaxMigDeviceCount, handle)):
            part = self._ask(None, library.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
            if part is not None:
                memory = self._ask(None, library.nvmlDeviceGetMemoryInfo, part)
                name, product = library.nvmlDeviceGetUUID(part), library.nvmlDeviceGetName(part)
                found.append(Part(_text(name), _text(product), None if memory is None else memory.total))
        return tuple(found)

    def _link(self, found: dict[str, Card], handles: dict[str, Any]) -> None:
        """How near the cards that answer are to each other; of the others the last that was known stays."""
        joined: dict[str, tuple[frozenset[str], bool]] = {}
        for name, handle in handles.items():
            try:
                joined[name] = self._nvlinks(handle)
            except self._library.NVMLError as error:
                found[name] = found[name]._replace(health=Health(str(error)))
        for name, (peers, switched) in joined.items():
            links: dict[str, str] = {}
            for other, (theirs, also) in joined.items():
                near = found[other].bus in peers or found[name].bus in theirs or (switched and also)
                word = "NV" if near else self._level(handles[name], handles[other])
                if other != name and word is not None:
                    links[other] = word
            found[name] = found[name]._replace(links=links)

    def _level(self, handle: Any, other: Any) -> str | None:
        try:
            return LEVELS.get(self._library.nvmlDeviceGetTopologyCommonAncestor(handle, other))
        except self._library.NVMLError:
            return None

    def _nvlinks(self, handle: Any) -> tuple[frozenset[str], bool]:
        """Places on the bus of the cards at the other ends, and whether a switch joins it to all others."""
        library, switched = self._library, False
        peers: set[str] = set()
        for link in range(library.NVML_NVLINK_MAX_LINKS):
            active = self._ask(None, library.nvmlDeviceGetNvLinkState, handle, link)
            if active is None:
                break
            if not active:
                continue
            kind = self._ask(None, library.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link)
            if kind == library.NVML_NVLINK_DEVICE_TYPE_SWITCH:
                switched = True
            else:
                remote = self._ask(None, library.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
                peers.update(() if remote is None else (_bus(remote.busId),))
        return frozenset(peers), switched

    def _listen(self, name: str, handle: Any) -> None:
        if name in self._listening:
            return
        self._listening.add(name)
        if self._events is None:
            self._events = self._ask(None, self._library.nvmlEventSetCreate)
        if self._events is not None:
            kind = self._library.nvmlEventTypeXidCriticalError
            self._ask(None, self._library.nvmlDeviceRegisterEvents, handle, kind, self._events)

    def _hear(self) -> None:
        """Take in the errors that cards reported since the last look."""
        for _ in range(MOST_EVENTS if self._events is not None else 0):
            try:
                event = self._library.nvmlEventSetWait_v2(self._events, 0)
                name = _text(self._library.nvmlDeviceGetUUID(event.device))
            except self._library.NVMLError:
                return
            if event.eventData not in PROGRAMS_FAULT:
                self._xids[name] = event.eventData

    def _numa(self, bus: str) -> int | None:
        """From the kernel, which says -1 for one node alone."""
        try:
            number = int((self._sysfs / bus / "numa_node").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        return number if number >= 0 else None

    def _ask(self, without: Answer, question: Callable[..., Answer], *arguments: Any) -> Answer:
        """`without` where this card or library has no answer; a card that is lost raises NVMLError."""
        try:
            return question(*arguments)
        except self._library.NVMLError as error:
            if error.value in (
                self._library.NVML_ERROR_GPU_IS_LOST,
                self._library.NVML_ERROR_RESET_REQUIRED,
                self._library.NVML_ERROR_UNKNOWN,
            ):
                raise
            return without


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _bus(value: str | bytes) -> str:
    """The place of a card on the bus as the kernel spells it: four digits of the domain, small letters."""
    domain, _, rest = _text(value).lower().partition(":")
    return f"{domain[-4:]:0>4}:{rest}"
