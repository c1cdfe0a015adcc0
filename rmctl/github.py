"""GitHub for definitions: `pip install rmctl[github]`."""

from controllers.providers.github import API, Checks, GitHub, NotAuthorised, PullRequest, RateLimited, connected, site

__all__ = ["API", "Checks", "GitHub", "NotAuthorised", "PullRequest", "RateLimited", "connected", "site"]
