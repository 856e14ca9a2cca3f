"""A device as it comes back from the field: it logged, kept photos, threw some away, and lost its power.

What its chip holds goes to nand.bin, check sums of what was deleted to deleted.sha256, of the others to kept.sha256.
"""

import hashlib
import random
import sys
from pathlib import Path

import ffslab

PHOTOS, DELETED = 40, 12

chance = random.Random(7)
stack = ffslab.Stack(sys.argv[1], board="omap3evm", kernel="2.6.37", partition_blocks=160)
stack.mount()
stack.mkdir("photos")
sums = {}
for number in range(PHOTOS):
    name, content = f"photos/{number:03d}.jpg", chance.randbytes(chance.randrange(20_000, 120_000))
    stack.write_file(name, content)
    sums[name] = hashlib.sha256(content).hexdigest()
    stack.sleep(3_600_000_000)
stack.sync()
deleted = sorted(chance.sample(sorted(sums), DELETED))
for name in deleted:
    stack.unlink(name)
    stack.sleep(60_000_000)
log = stack.open("log", "wronly create append")
for minute in range(60):
    stack.pwrite(log, f"minute {minute}: all is well\n".encode(), stack.fstat(log).size_bytes)
    stack.fsync(log)
    stack.sleep(1_000_000)
Path("nand.bin").write_bytes(stack.image(oob=True))
for file, names in (("deleted.sha256", deleted), ("kept.sha256", sorted(sums.keys() - set(deleted)))):
    Path(file).write_text("".join(f"{sums[name]}  {name}\n" for name in names))
