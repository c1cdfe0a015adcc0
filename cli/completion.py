"""`rmctl completion`: a script for the shell, which asks `rmctl complete` what could come next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from cli.errors import CliError, UsageProblem
from cli.flags import LONG
from cli.kinds import EVERYTHING, JOB, KINDS, NODE, KindName, known
from cli.session import Session
from cli.terminal import out, safe
from cli.verbs import ALIASES, GROUPS, VERBS
from resources.names import shown

BASH = """\
_rmctl() {
    local IFS=$'\\n'
    local line="${COMP_LINE:0:COMP_POINT}"
    COMPREPLY=($(rmctl complete -- "$line" 2>/dev/null))
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ || ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    [[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
    return 0
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}
complete -F _rmctl rmctl
"""
ZSH = """\
#compdef rmctl
_rmctl() {
    local -a found
    found=("${(@f)$(rmctl complete -- "${LBUFFER}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        compadd -Q -- "${found[@]}"
    else
        _files
    fi
}
compdef _rmctl rmctl
"""
FISH = """\
function __rmctl_complete
    rmctl complete -- (commandline -cp) 2>/dev/null
end
complete -c rmctl -f -a '(__rmctl_complete)'
complete -c rmctl -F -n '__fish_contains_opt -s f filename'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
TAKES_KINDS = frozenset("get describe why wait delete restart pause resume reconcile edit patch label annotate".split())
TAKES_JOBS = frozenset("logs exec start stop".split())
TAKES_NODES = frozenset("cordon uncordon".split())
TAKES_FILES = ("-f", "--filename", "--patch-file", "--token-file", "--config", "--data")


def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish")],
) -> int:
    """Print a script for your shell: `source <(rmctl completion bash)`."""
    session: Session = context.obj
    session.output()
    if shell not in SCRIPTS:
        raise UsageProblem(f'"{shell}": one of {", ".join(SCRIPTS)}')
    out(SCRIPTS[shell].rstrip("\n"))
    return 0


def complete(context: typer.Context, line: Annotated[str, typer.Argument()] = "") -> int:
    """Print every word that could stand at the end of a line, one a line. It never fails."""
    session: Session = context.obj
    words = line.split()
    last = "" if line[-1:].isspace() or not words else words.pop()
    try:
        found = list(_candidates(session, words[1:], last))
    except (CliError, OSError):
        found = []
    for word in sorted(dict.fromkeys(found)):
        if word.startswith(last):
            out(safe(word))
    return 0


def _candidates(session: Session, words: Sequence[str], last: str) -> Iterator[str]:
    """`words` are those before the last one, the command itself left out."""
    verb = next((word for word in words if word in VERBS), None)
    if verb is None:
        yield from (name for group in (*GROUPS.values(), ALIASES) for name in group)
        return
    if words and words[-1] in TAKES_FILES:
        return
    if last.startswith("-"):
        yield from _flags(verb, words)
        return
    given = [word for word in words[words.index(verb) + 1 :] if not word.startswith("-")]
    if verb in TAKES_JOBS:
        yield from _names(session, JOB, bare=True)
    elif verb in TAKES_NODES:
        yield from _names(session, NODE, bare=True)
    elif verb in TAKES_KINDS:
        yield from _about(session, verb, given, last)
    elif verb == "explain":
        yield from _fields(last)
    else:
        yield from _subverbs(verb)


def _about(session: Session, verb: str, given: Sequence[str], last: str) -> Iterator[str]:
    """A kind first, then its names; KIND/NAME where the word has a slash in it."""
    head, slash, _ = last.partition("/")
    kind = known(head if slash else given[0] if given else "", KINDS)
    if kind is not None:
        yield from _names(session, kind, bare=not slash)
        return
    yield from (name for each in KINDS for name in (each.plural, f"{each.name}/"))
    if verb == "get":
        yield from (EVERYTHING[0], "effects", "queue", "runs")
    if verb in ("pause", "resume"):
        yield "server"


def _names(session: Session, kind: KindName, *, bare: bool) -> Iterator[str]:
    from cli.fetching import every

    for item in every(session, kind).items:
        name = shown(kind.name, str(item["metadata"]["name"]))
        yield name.partition("/")[2] if bare else name


def _fields(last: str) -> Iterator[str]:
    """`bundle.`, `bundle.spec.jobs`: the fields of built-in kinds, step by step."""
    word, *steps = last.split(".")
    if not steps:
        yield from (f"{kind.name}." for kind in KINDS)
        return
    kind = known(word, KINDS)
    if kind is None:
        return
    from cli.explain import opened
    from cli.models import built_in

    found = built_in()
    schema = found.of(kind.name)
    for step in steps[:-1]:
        schema = (opened(found, schema)[0].get("properties") or {}).get(step, {})
    for name in opened(found, schema)[0].get("properties") or {}:
        yield ".".join([word, *steps[:-1], name])


def _subverbs(verb: str) -> Iterator[str]:
    yield from getattr(_command(verb), "commands", {})


def _flags(verb: str, words: Sequence[str]) -> Iterator[str]:
    found = _command(verb)
    below = getattr(found, "commands", {})
    for word in words[words.index(verb) + 1 :]:
        found = below.get(word, found)
    for parameter in found.params:
        yield from (name for name in parameter.opts if name.startswith("--"))
    if not VERBS[verb].own_flags:
        yield from LONG
    yield "--help"


def _command(verb: str) -> Any:
    from typer.main import get_command

    from cli.running import command

    return get_command(command(verb))
