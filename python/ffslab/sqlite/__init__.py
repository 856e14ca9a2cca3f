"""SQLite, the real library, on the simulated stack.

    >>> stack = ffslab.Stack("ubifs")
    >>> stack.mount()
    >>> with ffslab.sqlite.connected(stack, "contacts.db") as database:
    ...     database.execute("CREATE TABLE t (x)")

`vfs` makes SQLite's system calls on a stack, `script` cuts SQL into statements, `run` runs scripts and sums up,
`contacts` is the data base of the read-ahead study, `look_ups` its experiment.
"""

from ffslab.sqlite.run import SqlRun, measure_script, run_scripts
from ffslab.sqlite.vfs import connected

__all__ = ["SqlRun", "connected", "measure_script", "run_scripts"]
