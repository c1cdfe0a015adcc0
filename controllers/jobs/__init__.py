"""The parts of the job controller: what it sees, where an instance stands, how it recovers, what it tells."""
