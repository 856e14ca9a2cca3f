"""Synthetic measurements of a board whose constants are known: logs of loops, power captures, logs of the probe kit.

Noise is seeded. The clock ticks; a measurement begins anywhere within a tick and is an end minus a start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TICK_US = 1e6 / 32768


@dataclass(frozen=True)
class Bench:
    """What is true of the board, and how it is measured."""

    time_us: dict[str, float] = field(default_factory=lambda: {"read": 185.065, "program": 407.6, "erase": 536.4})
    cpu_uj: dict[str, float] = field(default_factory=lambda: {"read": 34.6, "program": 74.6, "erase": 97.5})
    memory_uj: dict[str, float] = field(default_factory=lambda: {"read": 2.2, "program": 6.3, "erase": 8.5})
    idle_mw: tuple[float, float] = (269.0, 147.8)
    counts: tuple[int, ...] = (256, 512, 1024, 2048)
    repeats: int = 3
    start_us: float = 400.0
    time_noise: float = 0.002
    power_noise_mw: float = 1.0
    tick_us: float = TICK_US
    seed: int = 1

    def loops(self) -> list[tuple[str, int, float, float, float]]:
        """(operation, n, measured time in us, CPU and memory power in mW) of each loop, in order."""
        random = np.random.default_rng(self.seed)
        rows = []
        for operation, each_us in self.time_us.items():
            for n in self.counts * self.repeats:
                true_us = (self.start_us + n * each_us) * (1 + self.time_noise * random.standard_normal())
                begin_us = random.uniform(0, self.tick_us)
                ticks = np.floor((begin_us + true_us) / self.tick_us) - np.floor(begin_us / self.tick_us)
                cpu_mw, memory_mw = (
                    idle + energy[operation] / each_us * 1e3 + self.power_noise_mw * random.standard_normal()
                    for idle, energy in zip(self.idle_mw, (self.cpu_uj, self.memory_uj), strict=True)
                )
                rows.append((operation, n, float(ticks * self.tick_us), cpu_mw, memory_mw))
        return rows

    def write_loops(self, path: Path, *, power: bool = True) -> Path:
        """The log, with idle rows when it has powers."""
        random = np.random.default_rng(self.seed + 1)
        lines = ["operation,n,time_us" + (",power_cpu_mW,power_memory_mW" if power else "")]
        for operation, n, time_us, cpu_mw, memory_mw in self.loops():
            lines.append(f"{operation},{n},{time_us:.1f}" + (f",{cpu_mw:.2f},{memory_mw:.2f}" if power else ""))
        for _ in range(5 if power else 0):
            cpu_mw, memory_mw = (idle + self.power_noise_mw * random.standard_normal() for idle in self.idle_mw)
            lines.append(f"idle,0,1000000,{cpu_mw:.2f},{memory_mw:.2f}")
        path.write_text("\n".join(lines) + "\n")
        return path

    def write_capture(self, path: Path, *, rate_hz: float = 2000, pause_s: float = 0.5, noise_w: float = 0.004) -> Path:
        """What a digitizer shows of the same loops."""
        random = np.random.default_rng(self.seed + 2)
        pieces = []
        for _, _, time_us, cpu_mw, memory_mw in self.loops():
            pieces += [(pause_s, *self.idle_mw), (time_us / 1e6, cpu_mw, memory_mw)]
        pieces.append((pause_s, *self.idle_mw))
        ends_s = np.cumsum([piece[0] for piece in pieces])
        times_s = np.arange(0, ends_s[-1], 1 / rate_hz)
        which = np.searchsorted(ends_s, times_s, side="right")
        powers_w = np.array([piece[1:] for piece in pieces])[which] / 1e3
        powers_w += noise_w * random.standard_normal(powers_w.shape)
        table = np.column_stack([times_s, powers_w])
        np.savetxt(path, table, fmt="%.6f", delimiter=",", header="time_s,cpu_W,memory_W", comments="")
        return path

    def write_probe_logs(self, folder: Path, calls: int = 300, call_us: float = 12.0) -> list[Path]:
        """Calls of the driver with one to eight operations each, and the operations themselves."""
        random = np.random.default_rng(self.seed + 3)
        letters = {"read": "R", "program": "W", "erase": "E"}
        head = (
            "# ffslab-probe 1 {}\n# kernel: Linux 4.4\n# machine: a bench\n# clock: mono\n# started_s: 1.0\n"
            "# chip: page_B=2048 oob_B=64 block_B=131072 size_B=268435456\n# scope: chip\n# buffer_KiB: 4096\n"
            "# functions: mtd_read mtd_program mtd_erase\n# columns: {}\n"
        )
        columns = ("t_s;type;address;task;pid;bytes", "t_s;duration_us;function;task;pid")
        flash, functions = (
            [head.format(kind, names)] for kind, names in zip(("flashmon", "funcmon"), columns, strict=True)
        )
        now_us = 1e6
        for _ in range(calls):
            operation = list(letters)[random.integers(3)]
            count = int(random.integers(1, 9))
            overhead_us = 0.5 * count + 0.5
            each_us = self.time_us[operation] * (1 + self.time_noise * random.standard_normal(count))
            duration_us = call_us + float(each_us.sum()) + overhead_us
            at_us = now_us + call_us + np.cumsum(each_us) - each_us
            flash += [f"{at / 1e6:.6f};{letters[operation]};7;loop;42;2048\n" for at in at_us]
            functions.append(f"{now_us / 1e6:.6f};{duration_us:.1f};mtd_{operation};loop;42\n")
            functions.append(f"{(now_us + 1) / 1e6:.6f};{duration_us - 2:.1f};nand_{operation};loop;42\n")
            now_us += duration_us + 500
        foot = "# end: t_s={} events={} lost=0 overhead_ns_per_event=500\n"
        written = []
        for kind, lines in (("flashmon", flash), ("funcmon", functions)):
            path = folder / f"{kind}.log"
            path.write_text("".join(lines) + foot.format(now_us / 1e6, len(lines) - 1))
            written.append(path)
        return written
