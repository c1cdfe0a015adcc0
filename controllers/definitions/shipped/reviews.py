"""What the review of a pull request came to."""

from __future__ import annotations

from controllers.definitions.children import Run
from resources.frozen import Frozen

MAX_WORDS = 1000
SHAPE = '{"approved": true}, or {"approved": false, "words": "…"}'


class Verdict(Frozen):
    """`key` is that of the run; `words` say why not."""

    key: str
    approved: bool
    words: str = ""


def verdict_of(run: Run, workflow: str) -> Verdict:
    """Whatever is no plain yes is a no."""
    told = run.result if isinstance(run.result, dict) else {}
    match run.succeeded, told.get("approved"):
        case True, True:
            return Verdict(key=run.key, approved=True)
        case True, False:
            words = f"{workflow} said no: {told.get('words') or 'it did not say why'}"
        case True, _:
            words = f"{workflow} ended with no verdict: expected {SHAPE}"
        case _:
            words = f"{workflow} failed: {run.error}"
    return Verdict(key=run.key, approved=False, words=words[:MAX_WORDS])
