"""`ffslab uflip`: the uFLIP benchmark as its paper made it, on block devices: state, phases, pause, nine
micro-benchmarks."""

from ffslab.studies.uflip.folder import REPORT as REPORT
from ffslab.studies.uflip.folder import check as check
from ffslab.studies.uflip.folder import save as save
from ffslab.studies.uflip.plan import State as State
from ffslab.studies.uflip.study import Uflip as Uflip
from ffslab.studies.uflip.study import UflipResult as UflipResult
from ffslab.studies.uflip.text import text as text
