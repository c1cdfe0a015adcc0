"""What this machine has: amounts, network cards, devices from a file, and what it was told about itself.

GPUs come later, from a driver that may take its time.
"""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from agent import devices
from agent.errors import SettingsRefused
from agent.settings import AgentSettings
from api.proto import agent_pb2 as wire
from resources.quantities import milli
from resources.version import VERSION

DEVICE_LIMITS = "devices.limits"
MIB = 1024 * 1024
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def take(settings: AgentSettings) -> wire.Inventory:
    """Raises SettingsRefused for a devices file that cannot be used."""
    cpus = len(os.sched_getaffinity(0))
    capacity = float(cpus) if settings.capacity is None else settings.capacity
    try:
        capacity_milli = milli(capacity)
    except ValueError as error:
        raise SettingsRefused(f"--capacity: {error}") from error
    if capacity_milli <= 0:
        raise SettingsRefused("--capacity: must be above 0")
    cores = (
        settings.cores
        if settings.cores is not None
        else (cpus if settings.capacity is None else capacity_milli // 1000)
    )
    memory = settings.memory_mib if settings.memory_mib is not None else psutil.virtual_memory().total // MIB
    return wire.Inventory(
        capacity_milli=capacity_milli,
        cores=cores,
        memory_mib=memory,
        zone=settings.zone,
        address=settings.address,
        capabilities=_capabilities(settings),
        labels=dict(settings.labels),
        devices=[] if settings.devices is None else devices.read(settings.devices),
        nics=_nics(),
        utilization_cap=1.0,
        machine_id=machine_id(),
        drivers=[wire.Driver(id="process", version=VERSION, kinds=["command"])],
    )


def _capabilities(settings: AgentSettings) -> tuple[str, ...]:
    """What it was told, and that jobs hear which devices are theirs, where there are any."""
    named = settings.capabilities
    return named if settings.devices is None or DEVICE_LIMITS in named else (*named, DEVICE_LIMITS)


def machine_id() -> str:
    """What the operating system calls this machine, over boots; empty where it does not say."""
    for path in MACHINE_IDS:
        try:
            return path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
    return ""


def _nics() -> list[wire.Nic]:
    """Network cards that are up, less the loopback."""
    speeds = psutil.net_if_stats()
    return [
        wire.Nic(name=name, addresses=[a.address for a in addresses if "." in a.address], speed_mbit=speeds[name].speed)
        for name, addresses in psutil.net_if_addrs().items()
        if name != "lo" and name in speeds and speeds[name].isup
    ]
