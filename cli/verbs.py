"""The verbs: where each lives, and the line that the overview prints; a module is loaded when its verb is called."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """`attribute` is a function or a Typer of `module`."""

    module: str
    attribute: str
    line: str
    own_flags: bool = False
    """Whether `--server` and the other global flags behind the verb mean something else there."""


GROUPS: dict[str, dict[str, Verb]] = {
    "daily": {
        "apply": Verb("cli.apply", "apply", "create or change what files describe"),
        "get": Verb("cli.get", "get", "list resources, one line each"),
        "describe": Verb("cli.describe", "describe", "everything on record about one"),
        "why": Verb("cli.why", "why", "why one is as it is, and what would change it"),
        "plan": Verb("cli.plan", "plan", "what apply would change, and where it would run"),
        "wait": Verb("cli.wait", "wait", "return when a condition holds"),
        "delete": Verb("cli.delete", "delete", "end what runs and remove it"),
        "logs": Verb("cli.logs", "logs", "the last words of a job"),
        "exec": Verb("cli.execute", "execute", "one command beside a job"),
        "events": Verb("cli.events", "events", "what happened, newest first"),
        "top": Verb("cli.top", "top", "how much is claimed, and by whom"),
    },
    "work": {
        "start": Verb("cli.start", "start", "let a job run"),
        "stop": Verb("cli.stop", "stop", "hold a job"),
        "restart": Verb("cli.restart", "restart", "start a bundle or a job afresh"),
    },
    "nodes": {
        "cordon": Verb("cli.cordon", "cordon", "place nothing more on a node"),
        "uncordon": Verb("cli.cordon", "uncordon", "let a node be used again"),
        "node": Verb("cli.node", "app", "token, join, lost: let a machine in, or give it up"),
    },
    "repair": {
        "pause": Verb("cli.pause", "pause", "decide nothing for a resource; server: begin no effects"),
        "resume": Verb("cli.pause", "resume", "let it go on"),
        "reconcile": Verb("cli.reconcile", "reconcile", "look at a resource now"),
        "effects": Verb("cli.effects", "app", "touches of the world; resolve says what became of one"),
        "runs": Verb("cli.runs", "app", "child runs; resume, cancel, fork one"),
        "audit": Verb("cli.audit", "audit", "capacity: the ledger against what runs; verify: all that is on record"),
        "backup": Verb("cli.backup", "backup", "a verified copy while the server runs"),
        "restore": Verb("cli.restore", "restore", "a backup into a data folder"),
        "doctor": Verb("cli.doctor", "doctor", "whether database and machine are well"),
        "repair": Verb("cli.repair", "app", "queue: rebuild it from the resources"),
    },
    "kubectl's": {
        "diff": Verb("cli.diff", "diff", "what apply would change, line by line"),
        "edit": Verb("cli.edit", "edit", "a resource in your editor"),
        "patch": Verb("cli.patch", "patch", "change fields of a resource"),
        "label": Verb("cli.label", "label", "set and remove labels"),
        "annotate": Verb("cli.label", "annotate", "set and remove annotations"),
        "explain": Verb("cli.explain", "explain", "the fields of a kind"),
        "api-resources": Verb("cli.api_resources", "api_resources", "the kinds there are"),
        "schema": Verb("cli.schema", "schema", "JSON Schema of manifests"),
    },
    "set-up": {
        "demo": Verb("cli.demonstrate", "demo", "a server, three nodes and the examples, on this machine"),
        "server": Verb("cli.serve", "app", "run the server; status and stop"),
        "agent": Verb("cli.agent", "agent", "run the agent of a node", own_flags=True),
        "open": Verb("cli.opening", "open_pages", "show the server's pages in a browser"),
        "config": Verb("cli.config", "app", "tokens, certificates, contexts, a kubeconfig"),
        "init": Verb("cli.starter", "init", "a manifest to start from"),
        "secret": Verb("cli.secret", "app", "set, list, delete what only jobs may read"),
        "reserve": Verb("cli.reserve", "reserve", "devices and amounts of a pool, for a time"),
        "dev": Verb("cli.dev", "app", "replay a decision of the placer, forge: GitHub's API on this machine"),
        "completion": Verb("cli.completion", "completion", "bash, zsh or fish finish your words"),
        "version": Verb("cli.version", "version", "of this client and of the server"),
    },
}
ALIASES = {
    "validate": Verb("cli.plan", "validate", "plan --offline"),
    "place": Verb("cli.plan", "place", "plan --trace"),
    "queue": Verb("cli.listings", "queue", "get queue"),
    "metrics": Verb("cli.metrics", "metrics", "/metrics as it stands"),
}
HIDDEN = {"complete": Verb("cli.completion", "complete", "what a shell asks for")}
VERBS = {name: verb for group in (*GROUPS.values(), ALIASES, HIDDEN) for name, verb in group.items()}

GLOBAL_FLAGS = """Everywhere: -p, -n, --project NAME  --server ADDRESS  --context NAME  -o, --output FORMAT  -h, --help
FORMAT is json, yaml, name, wide or jsonpath=EXPRESSION, as far as a verb has it."""


def overview() -> str:
    """What `rmctl --help` prints."""
    width = max(map(len, VERBS))
    lines = ["usage: rmctl VERB [ARGUMENT]...", ""]
    for group, verbs in {**GROUPS, "aliases": ALIASES}.items():
        lines.append(group)
        lines += [f"  {name.ljust(width)}  {verb.line}" for name, verb in verbs.items()]
    return "\n".join([*lines, "", GLOBAL_FLAGS])
