"""Strict readers: from bytes to values that know their line and column."""
