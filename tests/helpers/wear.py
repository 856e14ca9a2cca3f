"""An experiment that wears a part."""

from __future__ import annotations

WRITES = """\
[[measure]]
step = "requests"
file = "hot"
op = "write"
pattern = "random"
request_B = "4 KiB"
count = {count}
seed = {seed}
"""


def workload(fs: str, steps: int = 8, **keys: object) -> str:
    """Writes over a file in so many measured steps."""
    stack = {"board": '"omap3evm"', "fs": f'"{fs}"', "partition_blocks": 64, **keys}
    stack |= {"max_beb_per1024": 1} if fs == "ubifs" else {}
    table = "\n".join(f"{key} = {value}" for key, value in stack.items())
    setup = '[[setup]]\nstep = "mount"\n[[setup]]\nstep = "create"\nfile = "hot"\nbytes = "1 MiB"\n'
    opened = '[[setup]]\nstep = "open"\nfile = "hot"\nflags = ["wronly", "sync"]\n'
    measured = "".join(WRITES.format(count=600, seed=seed) for seed in range(1, steps + 1))
    return f'title = "Wear"\n[stack]\n{table}\n{setup}{opened}{measured}'
