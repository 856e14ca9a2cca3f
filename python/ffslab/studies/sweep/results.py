"""What a study gave: its runs, its points, the answer, as text, page and folder."""

from __future__ import annotations

from pathlib import Path

from ffslab.studies.sweep.answers import Answered


class StudyResult(Answered):
    """What a study gave."""

    @property
    def text(self) -> str:
        """What the command prints."""
        from ffslab.studies.sweep.text import text_of

        return text_of(self)

    def report(self) -> str:
        """The report, an HTML page that needs no other file."""
        from ffslab.studies.sweep.page import html

        return html(self)

    def save(self, folder: str | Path) -> Path:
        """Writes the results folder: answer, tables of points and runs, report."""
        from ffslab.studies.sweep.folder import save

        return save(self, Path(folder), self.report())

    def _repr_html_(self) -> str:
        from ffslab.studies.sweep.page import in_notebook

        return in_notebook(self)
