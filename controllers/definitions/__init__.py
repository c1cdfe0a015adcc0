"""Kinds that files define: how they are found, checked, and run."""
