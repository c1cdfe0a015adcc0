"""What makes two runs of a job the same run: change any of this, and a running instance is ended and started anew."""

from __future__ import annotations

from resources.canonical import fingerprint
from resources.job import JobSpec

PROCESS = {"command", "image", "working_dir", "env", "secret_env", "parameters", "restarted_at"}
POLICY = {"essential", "on_runtime_failure", "max_restarts_per_hour"}
"""Requirements that say what a failure means; a running instance does not feel them."""


def run_fingerprint(spec: JobSpec) -> str:
    """Equal for specs that differ in nothing a running instance would feel.

    Defaults are left out: one spelled out is the same, and a field that a later version adds restarts nothing.
    """
    return fingerprint(
        {
            **spec.model_dump(mode="json", include=PROCESS, exclude_defaults=True),
            "requirements": spec.requirements.model_dump(mode="json", exclude=POLICY, exclude_defaults=True),
        }
    )
