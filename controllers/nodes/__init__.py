"""The parts of the node controller: its life by heartbeats, its amounts, and whether it is open for new work."""
