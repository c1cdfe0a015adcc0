"""Broken promises of the agent, and the refusals it may give to a start."""

from __future__ import annotations

INVALID_SPEC = "JOB_REJECTED_INVALID_SPEC"
NO_CAPACITY = "JOB_REJECTED_NO_CAPACITY"
PORT_TAKEN = "JOB_REJECTED_PORT_TAKEN"
NO_RUNTIME = "JOB_REJECTED_NO_RUNTIME"
NOT_PREPARED = "JOB_REJECTED_NOT_PREPARED"
CANCELLED = "JOB_REJECTED_CANCELLED"
OTHER_FINGERPRINT = "EFFECT_FINGERPRINT_DIFFERS"
UNSUPPORTED = "UNSUPPORTED"


class AgentError(Exception):
    """Base of what this package raises; `exit_code` is what the process ends with when nobody catches it."""

    exit_code = 1


class Refusal(AgentError):
    """A start that will not happen, and why, in words for the job's owner."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class InvalidSpec(Refusal):
    """No node could ever run this."""

    def __init__(self, detail: str) -> None:
        super().__init__(INVALID_SPEC, detail)


class SettingsRefused(AgentError):
    """The agent cannot begin with these settings."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class JoinRefused(AgentError):
    """The server does not take this node."""

    exit_code = 3


class StreamLost(AgentError):
    """The connection ended or fell silent; another one is made."""
