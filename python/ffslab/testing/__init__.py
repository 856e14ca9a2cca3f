"""Flash in the tests of an application: fixtures, figures and budgets for pytest. See docs/budgets.md."""

from ffslab.testing.figures import Figure, Figures
from ffslab.testing.machines import FlashStack
from ffslab.testing.mounts import FlashMount

__all__ = ["Figure", "Figures", "FlashMount", "FlashStack"]
