"""What exists: kinds, their specs and statuses, and the words they share."""
