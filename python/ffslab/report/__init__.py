"""Pages for people: one HTML file each, in one style (`page`), without scripts or pictures from elsewhere."""

from ffslab.report.page import Opening, Section, bullets, page, section, table
from ffslab.report.run import html, in_notebook

__all__ = ["Opening", "Section", "bullets", "html", "in_notebook", "page", "section", "table"]
