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
        "events": Verb("cli.events", "events", "what happened, newest first"),
    },
    "work": {
        "start": Verb("cli.start", "start", "let a job run"),
        "stop": Verb("cli.stop", "stop", "hold a job"),
        "restart": Verb("cli.restart", "restart", "start a bundle or a job afresh"),
    },
    "nodes": {
        "cordon": Verb("cli.cordon", "cordon", "place nothing more on a node"),
        "uncordon": Verb("cli.cordon", "uncordon", "let a node be used again"),
        "node": Verb("cli.node", "app", "token and join: let a machine in"),
    },
    "set-up": {
        "demo": Verb("cli.demonstrate", "demo", "a server, three nodes and the examples, on this machine"),
        "server": Verb("cli.serve", "app", "run the server; status and stop"),
        "agent": Verb("cli.agent", "agent", "run the agent of a node", own_flags=True),
        "open": Verb("cli.opening", "open_pages", "show the server's pages in a browser"),
        "config": Verb("cli.config", "app", "tokens, certificates, contexts, a kubeconfig"),
        "version": Verb("cli.version", "version", "of this client and of the server"),
    },
}
VERBS = {name: verb for group in GROUPS.values() for name, verb in group.items()}

GLOBAL_FLAGS = """Everywhere: -p, -n, --project NAME  --server ADDRESS  --context NAME  -o, --output FORMAT  -h, --help
FORMAT is json, yaml, name, wide or jsonpath=EXPRESSION, as far as a verb has it."""


def overview() -> str:
    """What `rmctl --help` prints."""
    width = max(map(len, VERBS))
    lines = ["usage: rmctl VERB [ARGUMENT]...", ""]
    for group, verbs in GROUPS.items():
        lines.append(group)
        lines += [f"  {name.ljust(width)}  {verb.line}" for name, verb in verbs.items()]
    return "\n".join([*lines, "", GLOBAL_FLAGS])
