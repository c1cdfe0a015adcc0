"""The controllers that exist: one line each."""

from __future__ import annotations

from typing import Any

from controllers.bundle import BundleController
from controllers.job import JobController
from controllers.node import NodeController
from controllers.pool import PoolController
from controllers.reservation import ReservationController
from controllers.runtime.controller import Controller
from controllers.schedule import ScheduleController
from controllers.template import TemplateController
from controllers.webhook import WebhookController

CONTROLLERS: tuple[Controller[Any, Any], ...] = (
    PoolController(),
    NodeController(),
    TemplateController(),
    BundleController(),
    JobController(),
    ReservationController(),
    ScheduleController(),
    WebhookController(),
)
