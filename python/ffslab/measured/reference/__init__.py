"""A real kernel in a virtual machine: what `ffslab reference run` boots, and what the tests boot as referee.

`kit.py` finds the parts, `initramfs.py` packs them, `machine.py` boots and runs jobs.
"""
