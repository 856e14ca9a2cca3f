"""An idea beside the original: a logger that collects records and writes them as a group, against one that syncs each.

Each policy is a function that works on a simulated machine as a program would. Ten runs of each, on two file systems,
with other contents and another phase of the kernel's clock, go into one table of pandas, and that into a picture.
"""

from collections.abc import Callable

import pandas as pd
from matplotlib.figure import Figure

import ffslab
from ffslab.api.stack import Measurement

RECORD_BYTES, RECORDS, GROUP, RUNS = 256, 2_000, 16, 10
SECOND_US = 1_000_000
# The records of this device do not compress.
BOARD = {"board": "omap3evm", "kernel": "2.6.37", "compression": "none"}

Policy = Callable[[ffslab.Stack, int], None]


def sync_each(stack: ffslab.Stack, log: int) -> None:
    """The original: a record a second, each on flash before the next."""
    for number in range(RECORDS):
        stack.pwrite(log, bytes(RECORD_BYTES), number * RECORD_BYTES)
        stack.fsync(log)
        stack.sleep(SECOND_US)


def group_commit(stack: ffslab.Stack, log: int) -> None:
    """The idea: records wait in memory until there are sixteen, so a power cut may cost sixteen."""
    for number in range(0, RECORDS, GROUP):
        stack.sleep(GROUP * SECOND_US)
        stack.pwrite(log, bytes(GROUP * RECORD_BYTES), number * RECORD_BYTES)
        stack.fsync(log)


def measured(fs: str, policy: Policy, run: int) -> Measurement:
    """One run on a partition that is three quarters full."""
    stack = ffslab.Stack(fs, **BOARD, partition_blocks=160, seed=run, uptime_us=run * 1_234_567)
    stack.mount()
    stack.step("occupy", file="static", percent=75, of="df")
    log = stack.open("log", "wronly create")
    stack.sync()
    with stack.measured(policy.__name__):
        policy(stack, log)
    return stack.measurement(f"{fs} {policy.__name__} {run}", {"fs": fs, "policy": policy.__name__, "run": run})


FILE_SYSTEMS, POLICIES = ("jffs2", "ubifs"), (sync_each, group_commit)
results = [measured(fs, policy, run) for fs in FILE_SYSTEMS for policy in POLICIES for run in range(RUNS)]
runs = pd.DataFrame(
    {
        "fs": result.variant["axes"]["fs"],
        "policy": result.variant["axes"]["policy"],
        "programs": result.variant["totals"]["page_programs"],
        "erases": result.variant["totals"]["erases"],
        "energy_mJ": result.variant["energy_uJ"]["total"] / 1e3,
        "worst_call_ms": result.variant["latency_us"]["max"] / 1e3,
    }
    for result in results
)
print(runs.groupby(["fs", "policy"], sort=False).agg(["median", "max"]).round(1).to_string())

calls = pd.concat(pd.DataFrame(result.request_columns).assign(**result.variant["axes"]) for result in results)
syncs = calls[calls["op"] == "sync"]
figure = Figure(figsize=(7, 3), layout="constrained")
for axes, (fs, own) in zip(figure.subplots(1, 2, sharey=True), syncs.groupby("fs"), strict=True):
    for policy, latency_us in own.groupby("policy")["latency_us"]:
        ordered = latency_us.sort_values() / 1e3
        axes.plot(ordered, 1 - pd.Series(range(len(ordered))) / len(ordered), label=policy)
    axes.set(title=fs, xlabel="fsync took, ms", xscale="log", yscale="log")
figure.axes[0].set_ylabel("share of calls that took longer")
figure.axes[0].legend(frameon=False)
figure.savefig("tails.png", dpi=120)
