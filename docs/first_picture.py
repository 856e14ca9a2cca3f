"""Draws docs/first-picture.svg, the picture at the top of the README, from the first experiment:

ffslab run experiments/first-run/sqlite.toml && python docs/first_picture.py results/sqlite/summary.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from ffslab.text.time_table import spent

COLOURS = {"read": "#4c78a8", "read-ahead": "#f58518", "CPU": "#b8b8b8"}
NAMES = {
    "read": "read: what the program asked for",
    "read-ahead": "read-ahead: what the kernel reads beside it",
    "CPU": "CPU",
}


def main() -> None:
    """Reads the summary of the first experiment and writes the picture beside this file."""
    variants = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["variants"]
    # The same bytes again when nothing changed.
    mpl.rcParams.update(
        {"font.size": 11, "svg.hashsalt": "ffslab", "svg.fonttype": "none", "font.family": "sans-serif"}
    )
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    labels = []
    for row, variant in enumerate(variants):
        window = variant["axes"]["read_ahead_KiB"]
        labels.append(f"{variant['axes']['fs'].upper()}, read-ahead {f'{window} KiB' if window else 'off'}")
        begin_ms = 0.0
        for reason, us in spent(variant).items():
            axes.barh(row + row // 2 * 0.35, us / 1000, left=begin_ms, color=COLOURS[reason], height=0.8)
            begin_ms += us / 1000
        axes.text(begin_ms + 0.6, row + row // 2 * 0.35, f"{begin_ms:.0f} ms", va="center")
    axes.set_yticks([row + row // 2 * 0.35 for row in range(len(labels))], labels)
    axes.invert_yaxis()
    axes.set_xlabel("ms that a program of 275 reads (SQLite, recorded) waits for its file, and for what")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    for reason, colour in COLOURS.items():
        axes.barh(0, 0, color=colour, label=NAMES[reason])
    figure.legend(frameon=False, loc="outside upper left", ncols=3)
    figure.savefig(Path(__file__).with_name("first-picture.svg"), metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
