"""Lives of devices as data and as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ffslab.answers.lives import VariantLife
from ffslab.answers.whole_lives import WholeLivesAnswer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Lived:
    """Lives of devices."""

    answer: WholeLivesAnswer

    @property
    def lives(self) -> list[tuple[str, VariantLife]]:
        """Each life with the name of its workload, and of its variant where there are several."""
        return [
            (one["workload"] if life["name"] == "base" else f"{one['workload']} ({life['name']})", life)
            for one in self.answer["workloads"]
            for life in one["lives"]
        ]

    def points(self) -> pd.DataFrame:
        """A row for each instant of each life: erases and their spread, bad blocks, free space, latencies."""
        import pandas as pd

        rows = []
        for name, life in self.lives:
            for point in life["points"]:
                spread = {f"erases_{key}": value for key, value in point["erases"].items()}
                plain = {key: value for key, value in point.items() if key != "erases"}
                rows.append({"life": name, **plain, **spread})
        return pd.DataFrame(rows)

    def blocks(self) -> pd.DataFrame:
        """The erases of each block at up to a hundred instants of each life."""
        import pandas as pd

        parts = [
            pd.DataFrame({"life": name, "days": days, "block": range(len(erases)), "erases": erases})
            for name, life in self.lives
            for days, erases in zip(life["wear"]["days"], life["wear"]["erases"], strict=True)
        ]
        return pd.concat(parts, ignore_index=True)
