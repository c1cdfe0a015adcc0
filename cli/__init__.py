"""rmctl on the command line: one verb a module, loaded when it is called."""
