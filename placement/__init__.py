"""Where a job goes: a pure planner over a view of the fleet."""
