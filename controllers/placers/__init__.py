"""Placers: from a reservation that waits to the claims that give it its place, written by the pass that asked."""
