"""Is a product safe against power cuts: a workload, every cut of it, a judge: `ffslab crashtest`."""

from ffslab.studies.crashtest.file import CrashTest, Cut, Cuts
from ffslab.studies.crashtest.machine import WatchedStack
from ffslab.studies.crashtest.run import crashtest

__all__ = ["CrashTest", "Cut", "Cuts", "WatchedStack", "crashtest"]
