"""How Sphinx builds these pages."""

project = "rmctl"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "rmctl"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
