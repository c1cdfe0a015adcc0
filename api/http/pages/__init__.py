"""The web pages: an overview and a page for each resource, read-only, the same as JSON for who asks."""
