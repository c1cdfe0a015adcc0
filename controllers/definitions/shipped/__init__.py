"""Definitions and workflows that come with rmctl."""
