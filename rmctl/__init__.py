"""The root that people who write definitions import from."""

from resources.version import VERSION

__version__ = VERSION
