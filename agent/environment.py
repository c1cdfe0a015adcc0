"""What a job finds in its environment, and the `${…}` that are filled in for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.errors import InvalidSpec
from agent.order import Order, Probe

INHERITED = ("PATH", "HOME", "USER", "LANG", "TZ")
INHERITED_PREFIX = "LC_"
RESERVED = ("RM_", "NORSK_")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
UUID_OF_GPU = re.compile(r"(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""As a driver names a card or a part of one."""
REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)\}")


def filled(order: Order, address: str) -> Order:
    """The order with every reference replaced in command, env and probes. Raises InvalidSpec for an unknown one."""
    values = {f"param.{name}": value for name, value in order.parameters.items()} | {"node.address": address}
    return replace(
        order,
        command=tuple(fill(text, values, f"command[{index}]") for index, text in enumerate(order.command)),
        env={name: fill(text, values, f"env.{name}") for name, text in order.env.items()},
        readiness=_filled_probe(order.readiness, values, "readiness"),
        liveness=_filled_probe(order.liveness, values, "liveness"),
    )


def _filled_probe(probe: Probe | None, values: Mapping[str, str], where: str) -> Probe | None:
    if probe is None:
        return None
    argv = tuple(fill(text, values, f"{where}.exec[{index}]") for index, text in enumerate(probe.exec))
    return replace(probe, exec=argv, http=fill(probe.http, values, f"{where}.http"))


def fill(text: str, values: Mapping[str, str], where: str) -> str:
    """`${NAME}` becomes its value, `$${` a literal `${`; what was filled in is not looked at again."""

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "${"
        if match[1] not in values:
            raise InvalidSpec(f"{where}: unknown reference ${{{match[1]}}}")
        return values[match[1]]

    return REFERENCE.sub(value, text)


def build(
    order: Order, secrets: Mapping[str, str], own: Mapping[str, str], *, address: str, socket: str
) -> dict[str, str]:
    """The job's whole environment: a few of the agent's `own`, what it is told, then its own. Raises InvalidSpec."""
    inherited = {name: text for name, text in own.items() if name in INHERITED or name.startswith(INHERITED_PREFIX)}
    for field, given in (("env", order.env), ("secretEnv", secrets)):
        for name, text in given.items():
            _allowed(field, name, text)
    told = {
        "RM_JOB": order.key.people,
        "RM_INSTANCE": order.instance,
        "RM_ATTEMPT": str(order.attempt),
        "RM_RUNTIME_ROLE": order.key.role,
        "NORSK_RUNTIME_ROLE": order.key.role,
        "RM_NODE_ADDRESS": address,
        "RM_JOB_SOCKET": socket,
    }
    if order.devices:
        told["RM_DEVICES"] = ",".join(order.devices)
    if order.gpu_index is not None:
        told["RM_GPU_INDEX"] = str(order.gpu_index)
    return inherited | _visible(order.devices) | dict(order.env) | dict(secrets) | told | _parameters(order.parameters)


def _visible(devices: Sequence[str]) -> dict[str, str]:
    """What keeps a program, or the runtime of its container, to the GPUs that are its own; it may say otherwise."""
    own = ",".join(device for device in devices if UUID_OF_GPU.fullmatch(device))
    return {"CUDA_VISIBLE_DEVICES": own, "NVIDIA_VISIBLE_DEVICES": own} if own else {}


def _allowed(field: str, name: str, text: str) -> None:
    if not NAME.fullmatch(name):
        raise InvalidSpec(f"{field}: {name!r} must match {NAME.pattern}")
    if name.startswith(RESERVED):
        raise InvalidSpec(f"{field}.{name}: names that start with RM_ or NORSK_ are reserved")
    if "\0" in text:
        raise InvalidSpec(f"{field}.{name}: must not contain a null character")


def _parameters(parameters: Mapping[str, str]) -> dict[str, str]:
    spelled: dict[str, str] = {}
    values: dict[str, str] = {}
    for name, text in parameters.items():
        upper = "RM_PARAM_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper()
        if upper in spelled:
            raise InvalidSpec(f'parameters: "{spelled[upper]}" and "{name}" are both {upper}')
        if "\0" in text:
            raise InvalidSpec(f"parameters.{name}: must not contain a null character")
        spelled[upper] = name
        values[upper] = text
    return values
