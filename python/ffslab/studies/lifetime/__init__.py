"""How long a part lasts: under a workload, from an image on, or at the past rate of a device in the field."""

from ffslab.studies.lifetime.past import of_past
from ffslab.studies.lifetime.text import text
from ffslab.studies.lifetime.whole import WholeLives, check, lived
from ffslab.studies.lifetime.workloads import (
    Given,
    Workload,
    alone,
    begun_with,
    looked_into,
    of_results,
    of_workloads,
    with_image,
)

__all__ = [
    "Given",
    "WholeLives",
    "Workload",
    "alone",
    "begun_with",
    "check",
    "lived",
    "looked_into",
    "of_past",
    "of_results",
    "of_workloads",
    "text",
    "with_image",
]
