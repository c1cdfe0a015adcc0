"""Amounts in thousandths, exactly: 0.1 vCPU is 100, and no float comes near a sum."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal


def milli(value: float) -> int:
    """Thousandths of a number, read as its shortest decimal text. Raises ValueError for more than three decimals."""
    scaled = Decimal(repr(value)) * 1000
    if scaled != scaled.to_integral_value():
        raise ValueError("at most three decimals")
    return int(scaled)


def scaled_down(total_milli: int, ratio: float) -> int:
    """floor(total × ratio) in exact decimal arithmetic; the ratio is read as its shortest decimal text."""
    return int((Decimal(total_milli) * Decimal(repr(ratio))).to_integral_value(ROUND_FLOOR))


def plain(amount_milli: int) -> str:
    """`1500` as `1.5`, `2000` as `2`."""
    whole, rest = divmod(abs(amount_milli), 1000)
    sign = "-" if amount_milli < 0 else ""
    return f"{sign}{whole}.{rest:03d}".rstrip("0") if rest else f"{sign}{whole}"
