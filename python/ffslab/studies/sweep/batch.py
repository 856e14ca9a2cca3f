"""Workers that are jobs of a batch system: dask-jobqueue submits them to it, their scheduler is in this process."""

from __future__ import annotations

import shutil
from typing import Any

from ffslab._native import InputError
from ffslab.studies.sweep.workers import DaskWorkers

# The batch systems, and their classes in dask_jobqueue.
SYSTEMS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
}
# Of a job, where dask's configuration (jobqueue.yaml) says nothing: a worker takes one core and some 250 MiB.
BY_DEFAULT = {"cores": 1, "processes": 1, "memory": "1GiB"}


class BatchWorkers(DaskWorkers):
    """So many jobs of a batch system. What each of them asks for stands in dask's configuration."""

    def __init__(self, system: str, jobs: int) -> None:
        """Submits the jobs and waits until the first of them works.

        Raises `ffslab.InputError` for a system that is not known, without dask-jobqueue, or when jobs are refused.
        """
        if system not in SYSTEMS:
            raise InputError(f"--batch {system}: no such batch system, known are {', '.join(SYSTEMS)}")
        try:
            import dask
            import dask_jobqueue
        except ImportError:
            raise InputError('--batch needs the package dask-jobqueue: pip install "ffslab[cluster]"') from None
        said = {key: dask.config.get(f"jobqueue.{system}.{key}", None) for key in BY_DEFAULT}
        missing = {key: value for key, value in BY_DEFAULT.items() if said[key] is None}
        make: Any = getattr(dask_jobqueue, SYSTEMS[system])
        submits = str(make.job_cls.submit_command).split()[0]
        if shutil.which(submits) is None:
            raise InputError(f"--batch {system}: there is no command {submits} here: run this where jobs are submitted")
        try:
            self._cluster = make(**missing, scheduler_options={"dashboard": False, "dashboard_address": ":0"})
            self._cluster.scale(jobs=jobs)
            super().__init__(self._cluster.scheduler_address)
            self._client.wait_for_workers(1)
        except (RuntimeError, ValueError, OSError) as error:
            reason = str(error).strip().splitlines()
            raise InputError(f"--batch {system}: {reason[-1] if reason else error}") from None
        threads: dict[str, int] = self._client.nthreads()
        # Most of the jobs may still wait in the queue.
        self._take_places(jobs * max(threads.values()))

    def close(self) -> None:
        super().close()
        self._cluster.close(timeout=1)
