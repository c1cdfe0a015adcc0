"""The root that people who write definitions import from."""

__version__ = "0.1.0"
