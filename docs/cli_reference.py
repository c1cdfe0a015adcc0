"""Writes docs/cli.md from the verbs themselves: `python docs/cli_reference.py` after a verb has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from cli.running import command
from cli.verbs import ALIASES, GROUPS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cli.md"
INTRODUCTION = """\
# The command line

One verb after another, as `rmctl VERB --help` tells them. This page is written by `docs/cli_reference.py`.

Flags that every verb takes, wherever they stand on the line:

| flag | meaning |
|---|---|
| `-p`, `-n`, `--project NAME` | the project; `default` unless a context names another |
| `--server ADDRESS` | `unix:PATH`, `HOST:PORT` or a URL; else `RMCTL_SERVER`, the context, the local socket |
| `--context NAME` | a server from the configuration file |
| `-o`, `--output FORMAT` | `json`, `yaml`, `name`, `wide` or `jsonpath=EXPRESSION`, as far as a verb has it |

`KIND NAME` and `KIND/NAME` are the same everywhere, and a job may be written `BUNDLE/ROLE/JOB` or `BUNDLE.ROLE.JOB`.

## Exit codes

| code | meaning |
|---|---|
| 0 | done, also when it was done before; degraded is 0 with a warning |
| 1 | `diff` or `plan --exit-code` found differences; elsewhere an error that is not listed here |
| 2 | the command line or the manifest cannot be taken; nothing is stored |
| 3 | refused: not found, a conflict, forbidden, being deleted |
| 4 | no server answers, TLS fails, or the versions are too far apart |
| 5 | something on this machine or in the local store is in the way |
| 6 | `plan` and `place`: a job cannot be placed now |
| 7 | the time was up |
| 8 | it came to an end, and not to a good one: `wait` or `apply --wait` met Stalled |
| 130 | interrupted |

`exec` ends with the command's own code, 126 when it cannot be run, and 128 and the signal when one ended it.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for group, verbs in GROUPS.items():
        parts.append(f"\n## {group[:1].upper()}{group[1:]}\n")
        parts += [_verb(name) for name in verbs]
    parts.append("\n## Aliases\n\n| alias | the same as |\n|---|---|\n")
    parts += [f"| `rmctl {name}` | {_same(verb.line)} |\n" for name, verb in ALIASES.items()]
    return "".join(parts)


def _same(line: str) -> str:
    return f"`rmctl {line}`" if line.startswith(("plan ", "get ")) else line


def _verb(name: str) -> str:
    found = get_command(command(name))
    below = getattr(found, "commands", {})
    text = _section(f"rmctl {name}", found, "###") if not below or found.help else f"\n### rmctl {name}\n"
    return text + "".join(_section(f"rmctl {name} {word}", inner, "####") for word, inner in below.items())


def _section(title: str, found: Any, mark: str) -> str:
    help_text = " ".join((found.help or "").split("\n\n")[0].split())
    rest = [" ".join(part.split()) for part in (found.help or "").split("\n\n")[1:] if part.strip()]
    usage = " ".join([title, *(_shown(one) for one in found.params if one.param_type_name == "argument")])
    text = f"\n{mark} {title}\n\n    {usage}\n"
    for paragraph in [help_text, *rest]:
        text += f"\n{paragraph}\n" if paragraph else ""
    rows = list(_rows(found))
    return text + ("\n| option | meaning |\n|---|---|\n" + "".join(rows) if rows else "")


def _shown(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _rows(found: Any) -> Iterator[str]:
    for option in found.params:
        if option.param_type_name != "option" or "--help" in option.opts:
            continue
        names = ", ".join(f"`{word}`" for word in (*option.opts, *option.secondary_opts))
        value = "" if option.is_flag else f" `{option.metavar or 'VALUE'}`"
        meaning = f"{'required; ' if option.required else ''}{option.help or ''}"
        yield f"| {_escaped(names + value)} | {_escaped(meaning)} |\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
