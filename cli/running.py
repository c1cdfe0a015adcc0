"""One verb as a Typer command: made when it is called, so that a call pays for its own verb alone."""

from __future__ import annotations

import gc
import re
from importlib import import_module

import typer
from typer.main import get_command

from cli.errors import UsageProblem
from cli.session import Session
from cli.verbs import GLOBAL_FLAGS, VERBS

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def command(name: str) -> typer.Typer:
    """The verb's own Typer, or one around its function."""
    verb = VERBS[name]
    found = getattr(import_module(verb.module), verb.attribute)
    if isinstance(found, typer.Typer):
        return found
    app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=SETTINGS)
    app.command(name, epilog="" if verb.own_flags else GLOBAL_FLAGS)(found)
    return app


def _usage(error: typer.TyperException, name: str) -> UsageProblem:
    """In rmctl's words; the help that the hint names is that of the verb within the verb, where there is one."""
    message = " ".join(error.format_message().split()).rstrip(".")
    message = message.replace("is not a valid int range", "is not a whole number")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else f"rmctl {name}"
    wrong = re.fullmatch(r"No such command '(.*?)'.*", message)
    if wrong and context is not None:
        message = f'{name}: "{wrong[1]}": one of {", ".join(getattr(context.command, "commands", ()))}'
    return UsageProblem(message[:1].lower() + message[1:], hint=f"{path} --help")


STAYING = ("server", "agent", "demo")
"""Verbs that run for long, and make garbage as any program does."""
ORDINARY = 700


def call(name: str, words: list[str], session: Session) -> int:
    """Runs a verb. The exit code is what its function returns, 0 for None. Raises CliError."""
    built = get_command(command(name))
    if not words and built.no_args_is_help:
        raise UsageProblem(f"{name}: one of {', '.join(getattr(built, 'commands', ()))}", hint=f"rmctl {name} --help")
    if name in STAYING:
        gc.set_threshold(ORDINARY)
    try:
        with built.make_context(f"rmctl {name}", words, obj=session) as context:
            code = built.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.TyperException as error:
        raise _usage(error, name) from None
    except typer.Abort:
        raise KeyboardInterrupt from None
    finally:
        if "client" in vars(session):
            session.client.close()
    return code if isinstance(code, int) else 0
