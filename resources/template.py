"""Template: images that make a node warm, and defaults for job entries."""

from __future__ import annotations

from resources.frozen import Text
from resources.job_entry import PartialRequirements, Work
from resources.resource import Resource, Spec, Status


class TemplateSpec(Work, Spec):
    """What jobs of many bundles have in common; an entry of a bundle names it, and says what differs."""

    images: tuple[Text, ...] = ()
    requirements: PartialRequirements = PartialRequirements()


class TemplateStatus(Status):
    images: tuple[str, ...] = ()


class Template(Resource[TemplateSpec, TemplateStatus]):
    """A template as it was read."""
