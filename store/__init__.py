"""What is remembered: the only home of SQL."""
