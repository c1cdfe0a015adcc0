"""Draws the traced decision of docs/placement.md and writes its table: `python docs/placement_picture.py`."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

from placement import Amounts, Ask, Atom, Claim, FleetView, NodeView, PoolPolicy, Request, TierPolicy, board, plan
from placement.explain import tree
from placement.filters import FILTERS
from placement.levels import shares
from placement.scene import scene_of
from placement.trace import trace

HERE = Path(__file__).resolve().parent
PICTURE, PAGE = HERE / "traced-decision.svg", HERE / "placement.md"
BEGIN, END = "<!-- traced decision -->\n", "<!-- end of the traced decision -->\n"
FONT = 'font-family="sans-serif" font-size="13"'
POLICY = PoolPolicy(tiers=(TierPolicy(name="local"),))
REQUEST = Request(
    owner="default/hd.primary.encode",
    pool="default",
    bundle="hd",
    role="primary",
    job="encode",
    amounts=Amounts(8000),
    devices=(Ask("gpu", 4, topology="nvlink-all"),),
)
STEPS = (
    "pin", "tier", "excluded", "schedulable", "reserved", "labels", "fits", "ports", "fits (devices)", "topology",
    "exclusive", "separate", "together", "zone",
)  # fmt: skip
"""The filters as people read them, in order; what the pool leaves out is no step."""


class Row(NamedTuple):
    """One node: the step that refused it, None where all kept it, and what is said of it."""

    node: str
    step: int | None
    verdict: str
    evidence: str
    level: float | None


def fleet() -> FleetView:
    """Five nodes of one tier: two would do, one has no joined cards, one no cards, one is cordoned."""
    view = FleetView()
    for name, cards, linked, used, closed in (
        ("gpu-a", 8, True, 0, ()),
        ("gpu-b", 8, True, 2, ()),
        ("gpu-c", 8, False, 0, ()),
        ("box", 0, False, 0, ()),
        ("old", 0, False, 0, ("cordoned",)),
    ):
        atoms = [Atom(f"{name}-{at}", "gpu", position=at) for at in range(cards)]
        ids = [atom.id for atom in atoms]
        links = {(a, b): "NV4" if linked else "PHB" for a in ids for b in ids if a < b}
        view.put_node(
            NodeView(
                name=name,
                pool="default",
                tier="local",
                capacity=Amounts(16_000, 16, 65_536),
                no_schedule=closed,
                board=board(atoms, links) if atoms else None,
            )
        )
        if used:
            devices = tuple((atom, 1000) for atom in ids[:used])
            view.put_claim(Claim(f"{name}/1", name, "default/old.primary.x", Amounts(4000), devices=devices))
    return view


def rows() -> list[Row]:
    view = fleet()
    done, scene = plan(REQUEST, view, POLICY), scene_of(REQUEST, view, POLICY.tiers[0])
    found = []
    for at, entry in enumerate(done.ranked):
        packing = shares(POLICY.ranking, entry.key)["packing"]
        found.append(Row(entry.node, None, "kept" if at else "chosen", f"packing {packing:g}", packing))
    rules = [rule for name, rule in FILTERS if name != "pool"]
    for rejection in done.rejections:
        node = view.node(rejection.node)
        assert node is not None
        step = next(at for at, rule in enumerate(rules) if rule(REQUEST, node, scene) is not None)
        found.append(Row(rejection.node, step, "refused", rejection.text, None))
    return found


def table() -> str:
    told = [f"| {row.node} | {row.verdict} | {_at(row)} | {row.evidence} |" for row in rows()]
    return "\n".join(("| node | verdict | at the filter | evidence |", "|---|---|---|---|", *told)) + "\n"


def told() -> str:
    """What stands in the page: the picture, its table and the trace as it is printed."""
    printed = "".join(f"    {line}\n" for line in tree(trace(REQUEST, fleet(), POLICY)).splitlines())
    picture = f"![The filters that each of five nodes passes, and where it is refused]({PICTURE.name})\n"
    return f"{picture}\nThe same as a table:\n\n{table()}\nAnd as `plan --trace` prints it:\n\n{printed}"


def picture() -> str:
    """A line for each node: a dot for every filter that it passes, a cross where it is refused, then the evidence."""
    left, step, top, height = 90, 34, 120, 36
    right, found = left + step * len(STEPS) + 14, rows()
    high = top + height * len(found) + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {high}" role="img" {FONT}>',
        "<title>Why hd/primary/encode runs on the node that was chosen</title>",
        f'<rect width="960" height="{high}" fill="#ffffff"/>',
    ]
    for at, name in enumerate(STEPS):
        x = left + step * at + step // 2
        lines.append(
            f'<text x="{x}" y="{top - 14}" transform="rotate(-50 {x} {top - 14})" fill="#333333">{name}</text>'
        )
    lines.append(f'<text x="{right}" y="{top - 14}" fill="#333333">then the ranking</text>')
    for number, row in enumerate(found):
        y = top + height * number + height // 2
        bold = ' font-weight="bold"' if row.verdict == "chosen" else ""
        lines.append(f'<text x="14" y="{y + 5}" fill="#111111"{bold}>{row.node}</text>')
        passed = range(len(STEPS) if row.step is None else row.step)
        lines += [f'<circle cx="{left + step * at + step // 2}" cy="{y}" r="5" fill="#3b7a57"/>' for at in passed]
        if row.step is None:
            long, said = round(120 * (row.level or 0)), f"{row.evidence}, {row.verdict}"
            lines.append(f'<rect x="{right}" y="{y - 8}" width="{long}" height="16" fill="#7fb69a"/>')
            lines.append(f'<text x="{right + 130}" y="{y + 5}" fill="#111111"{bold}>{said}</text>')
        else:
            x = left + step * row.step + step // 2
            cross = f"M{x - 6} {y - 6}L{x + 6} {y + 6}M{x + 6} {y - 6}L{x - 6} {y + 6}"
            lines.append(f'<path d="{cross}" stroke="#b03a2e" stroke-width="3"/>')
            lines.append(f'<text x="{x + 16}" y="{y + 5}" fill="#b03a2e">{escape(row.evidence)}</text>')
    return "\n".join((*lines, "</svg>")) + "\n"


def page(text: str) -> str:
    """The page with its part about this decision made anew."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{told()}\n{END}{rest.partition(END)[2]}"


def _at(row: Row) -> str:
    return "passed all" if row.step is None else STEPS[row.step]


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
