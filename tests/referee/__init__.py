"""A real Linux kernel as referee: it mounts images that ffslab made, and makes images that ffslab mounts.

docs/referee.md says what is compared. `ffslab.measured.reference` holds the virtual machine, `jobs.py` what is done
in it.
"""
