"""The store of runs: what a variant did, kept under the hash of everything that determines it.

A store is a folder that programs without ffslab read, too:

    manifest.json           the format, and what the columns are
    runs/HASH.parquet       a row for each run: key, title, variant, figures, `summary` as JSON
    lives/KEY-HASH.parquet  a whole life each: how it ended, years, `life` as JSON
    tables/KEY-ROWS/        of runs whose tables were kept: requests.parquet, blocks.parquet, images/, logs/

A file is complete when it is there, and does not change any more; its name is the hash of its content. So several
programs may write to a store at once, and stores are merged by copying files.
"""

from ffslab.store.kept import KeptRun
from ffslab.store.store import VARIABLE, Store

__all__ = ["VARIABLE", "KeptRun", "Store"]
