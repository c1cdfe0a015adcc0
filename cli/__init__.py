"""rmctl on the command line: one verb a module."""
