"""The paths of the API: one collection a kind, namespaced where the kind lives in a project."""

from __future__ import annotations

from cli.kinds import KindName
from cli.targets import Target

ROOT = "/apis/rmctl/v1"
BATCH = f"{ROOT}/batch"
PLAN = f"{ROOT}/plan"
EVENTS = f"{ROOT}/events"
EFFECTS = f"{ROOT}/effects"
QUEUE = f"{ROOT}/queue"
RUNS = f"{ROOT}/runs"
CONTROL_RUNS = f"{ROOT}/runs/control"
TOKENS = f"{ROOT}/tokens"
USERS = f"{ROOT}/tokens/users"
PAGES = f"{ROOT}/tokens/pages"
AUTHORITY = f"{ROOT}/server/authority"
SERVER = f"{ROOT}/server"
STOP = f"{ROOT}/server/stop"
HOLD = f"{ROOT}/server/hold"
RESUME = f"{ROOT}/server/resume"
AUDIT = f"{ROOT}/audit/capacity"
RECORDS = f"{ROOT}/audit/records"
RESOLVE = f"{ROOT}/effects/resolve"
REBUILD = f"{ROOT}/queue/rebuild"
BACKUP = f"{ROOT}/backup"
KEPT = f"{ROOT}/backup/kept"
METRICS = "/metrics"
VERSION = "/version"


def collection(kind: KindName, project: str) -> str:
    return f"{ROOT}/namespaces/{project}/{kind.plural}" if kind.namespaced else f"{ROOT}/{kind.plural}"


def item(target: Target, project: str) -> str:
    return f"{collection(target.kind, project)}/{target.name}"
