"""How passes and effects run, whatever the kind."""
