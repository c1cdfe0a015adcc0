"""kill -9 at every executed line of the core, a restart on what was left, and what must hold then."""
