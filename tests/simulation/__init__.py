"""The whole manager on a virtual clock, under a seeded villain."""
