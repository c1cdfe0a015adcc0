"""The parts of the bundle controller: which jobs exist, how a change reaches them, and the verdict on the whole."""
