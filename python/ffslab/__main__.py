"""`python -m ffslab` is the same as the command `ffslab`."""

from ffslab.cli import main

main()
