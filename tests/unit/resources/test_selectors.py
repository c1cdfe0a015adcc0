"""Selectors of labels and fields."""

import pytest

from resources.selector_text import parse, parse_fields
from resources.selectors import SelectorError

LABELS = {"env": "prod", "rmctl/bundle": "ch-1", "vram": "24"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("env=prod", True),
        ("env==prod , rmctl/bundle = ch-1", True),
        ("env!=prod", False),
        ("zone!=a", True),
        ("env in (dev, prod)", True),
        ("env notin (dev,prod)", False),
        ("zone notin (a)", True),
        ("env", True),
        ("zone", False),
        ("!zone", True),
        ("!env", False),
        ("env=", False),
        ("env in (prod),!zone,rmctl/bundle", True),
        ("vram > 16", True),
        ("vram>24", False),
        ("vram < 25,env=prod", True),
        ("env > 1", False),
        ("zone < 1", False),
    ],
)
def test_selectors_match_as_in_kubernetes(text, matches):
    assert parse(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    "text", ["env in (", "env in ()", "==x", "a,,b", ",", "a b", "a in x", "-a=b", "a=b=c", "vram >< 1"]
)
@pytest.mark.req("B42")
def test_what_cannot_be_read_is_told_with_its_column(text):
    with pytest.raises(SelectorError, match=r"^selector: column \d+: "):
        parse(text)


@pytest.mark.req("B44")
@pytest.mark.parametrize(
    "text", ["vram > abc", "vram > 1,2", "vram >", "vram > 1.5", "vram < ,a", "vram > 9999999999999999999"]
)
def test_a_comparison_takes_exactly_one_number(text):
    sign = text.split()[1]
    with pytest.raises(SelectorError, match=rf"^selector: column \d+: {sign} takes exactly one number$"):
        parse(text)


@pytest.mark.req("B43")
def test_the_limits_are_named():
    with pytest.raises(SelectorError, match="at most 32 expressions"):
        parse(",".join(f"k{n}" for n in range(33)))
    with pytest.raises(SelectorError, match="at most 64 values"):
        parse(f"k in ({','.join(f'v{n}' for n in range(65))})")


def test_fields():
    selector = parse_fields("metadata.name=ch-1,metadata.namespace!=x", ("metadata.name", "metadata.namespace"))
    assert selector.matches({"metadata.name": "ch-1", "metadata.namespace": "default"})
    with pytest.raises(SelectorError, match=r'field "spec.pool" cannot be selected by; use metadata.name'):
        parse_fields("spec.pool=p", ("metadata.name",))
