"""What plugins of the placer are written with."""

from placement.node import NodeView
from placement.plugins import Plugin, Scorer
from placement.request import Request

__all__ = ["NodeView", "Plugin", "Request", "Scorer"]
