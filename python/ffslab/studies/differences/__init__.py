"""Two runs of the same kind: what is different in numbers, and which reason, step and file it comes from."""

from ffslab.studies.differences.account import Account, Part, account_of, files_of
from ffslab.studies.differences.explain import amount_of, consists_of, contributions, fraction, why

__all__ = ["Account", "Part", "account_of", "amount_of", "consists_of", "contributions", "files_of", "fraction", "why"]
