"""Simulated file systems, mounted for real programs."""
