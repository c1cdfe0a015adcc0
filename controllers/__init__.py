"""What happens: one kind a file, each an `observe` and a pure `decide`."""
