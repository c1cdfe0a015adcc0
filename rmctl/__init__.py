"""The root that people who write definitions import from."""

from resources.version import VERSION as __version__

__all__ = ["__version__"]
