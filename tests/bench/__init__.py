"""Measurements, each beside its goal; never part of the tests."""
