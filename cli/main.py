"""The command `rmctl`: finds the verb, runs it, and turns every way out into an exit code and at most a few lines."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from types import TracebackType

CLOSED_PIPE = 0
INTERRUPTED = 130
SELDOM = 50_000
"""Objects between two looks for garbage: nearly all that a short call makes is there until its end."""


def main(words: Sequence[str] | None = None) -> int:
    """The exit code. What nobody foresaw ends the process with one line on stderr and 1."""
    sys.excepthook = _unforeseen
    given = list(sys.argv[1:] if words is None else words)
    ordinary = gc.get_threshold()
    gc.set_threshold(SELDOM, *ordinary[1:])
    try:
        code = _guarded(given)
        sys.stdout.flush()
    except BrokenPipeError:
        return _closed_pipe()
    except KeyboardInterrupt:
        return _interrupted()
    except OSError as error:
        return _not_written(error)
    finally:
        gc.set_threshold(*ordinary)
    return code


def _guarded(words: list[str]) -> int:
    from cli.errors import CliError
    from cli.terminal import prepare

    prepare()
    try:
        return _run(words)
    except CliError as error:
        from cli.reporting import report

        report(error, words)
        return error.exit_code
    except RecursionError:
        from cli.reporting import report

        report(CliError("nesting deeper than this Python can print"), words)
        return CliError.exit_code


def _run(words: list[str]) -> int:
    from resources.version import VERSION

    if words == ["--version"]:
        sys.stdout.write(f"rmctl {VERSION}\n")
        return 0
    from cli.flags import split
    from cli.verbs import VERBS, overview

    flags, verb, rest = split(words)
    if verb is None:
        if any(word.startswith("-") and word not in ("-h", "--help") for word in rest):
            from cli.errors import UsageProblem

            raise UsageProblem(f"{rest[0]}: a verb is needed", hint="rmctl --help")
        sys.stdout.write(overview() + "\n")
        return 0
    if verb not in VERBS:
        raise _unknown_verb(verb)
    from cli.running import call
    from cli.session import Session

    return call(verb, rest, Session(flags))


def _unknown_verb(verb: str) -> Exception:
    from difflib import get_close_matches

    from cli.errors import UsageProblem
    from cli.verbs import VERBS

    near = get_close_matches(verb, VERBS, n=1)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return UsageProblem(f'unknown verb "{verb}"{guess}', hint="rmctl --help")


def _unforeseen(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A mistake in rmctl itself; RMCTL_TRACEBACK=1 shows where."""
    if os.environ.get("RMCTL_TRACEBACK"):
        sys.__excepthook__(kind, error, trace)
        return
    from cli.terminal import say

    say(f"rmctl: error: {' '.join(f'{kind.__name__}: {error}'.split())}")
    say("hint: this is a mistake in rmctl; RMCTL_TRACEBACK=1 shows where")


def _closed_pipe() -> int:
    from cli.terminal import hush

    hush()
    return CLOSED_PIPE


def _not_written(error: OSError) -> int:
    """A full disk behind stdout is the machine's doing; any other OSError goes on as what nobody foresaw."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        raise error
    from cli.errors import ENVIRONMENT
    from cli.terminal import hush

    hush()
    sys.stderr.write(f"rmctl: error: cannot write: {error.strerror}\n")
    return ENVIRONMENT


def _interrupted() -> int:
    try:
        sys.stdout.flush()
        sys.stderr.write("rmctl: interrupted\n")
    except (OSError, KeyboardInterrupt):
        return INTERRUPTED
    return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
