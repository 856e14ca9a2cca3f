"""How far a reference run is, from what its machines tell."""

from __future__ import annotations

from collections.abc import Sequence

from ffslab.measured.reference.plan import Variant
from ffslab.terminal.progress import Show


class Progress:
    """Shows the share of all boots and variants that is done, and the step that was last begun.

    A boot counts as much as a variant, and the steps of a variant alike.
    """

    def __init__(self, experiments: Sequence[list[Variant]], show: Show) -> None:
        self._experiments = experiments
        self._show = show
        # Of each machine: the boot, and its variants.
        self._done = [0.0 for _ in experiments]
        self._variant = [0 for _ in experiments]
        self._total = sum(1 + len(variants) for variants in experiments)
        show(0.0, "boot")

    def take(self, number: int, line: str) -> None:
        """A line of machine `number`: "variant NUMBER", "PHASE INDEX STEP", or "end" after all."""
        variants = self._experiments[number]
        phase, *words = line.split()
        what = "boot"
        if phase == "variant":
            self._variant[number] = int(words[0])
            self._done[number] = 1 + self._variant[number]
            what = "new chip"
        elif phase == "end":
            self._done[number] = 1 + len(variants)
            what = "end"
        variant = variants[self._variant[number]]
        if phase in ("setup", "measure"):
            begun = int(words[0]) + (len(variant.setup) if phase == "measure" else 0)
            steps = len(variant.setup) + len(variant.measure)
            self._done[number] = 1 + self._variant[number] + begun / steps
            what = f"{phase}, step {begun + 1} of {steps}: {words[1]}"
        elif phase == "begin":
            what = "waits for its phase"
        self._show(sum(self._done) / self._total, f"{variant.identity.removeprefix('reference/')}: {what}")
