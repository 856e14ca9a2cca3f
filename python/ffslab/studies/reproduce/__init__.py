"""The published studies, done again in simulation: `ffslab reproduce`."""

from ffslab.studies.reproduce.campaign import PAPERS, reproduce

__all__ = ["PAPERS", "reproduce"]
