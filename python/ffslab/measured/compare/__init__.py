"""Measurements of a real board beside a replay of the same calls on the simulated stack."""
