"""Plugins of the placer in a process of their own: loaded there, and asked within a deadline."""
