"""How the outside world is observed and touched, one provider a file."""
