"""Who works: processes of this machine, or a dask cluster. Both take work one piece at a time for each place."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from enum import Enum
from multiprocessing import get_context
from typing import Any, TypeVar

from ffslab._native import InputError
from ffslab.studies.sweep.tasks import begin

Result = TypeVar("Result")
# How long a scheduler may take to answer at first, and to be there again after it has gone.
ANSWER_S = 20.0
RETURN_S = 60.0


class Loss(Enum):
    """What was lost with a piece of work."""

    WORKER = "worker"
    SCHEDULER = "scheduler"


class Workers(ABC):
    """Takes work and gives futures of it. `places`: how many pieces are worked on at once."""

    places: int

    @abstractmethod
    def submit(self, work: Callable[..., Result], *given: object) -> Future[Result]:
        """Begins a piece of work. No more than `places` of them may be unfinished."""

    @abstractmethod
    def loss(self, future: Future[Any]) -> Loss | None:
        """Whether a piece that has ended was lost, and nothing is to be said of its work."""

    @abstractmethod
    def close(self) -> None:
        """Ends all work at once."""


class LocalWorkers(Workers):
    """Processes of this machine, each a pool of its own: who loses one knows which work it had."""

    def __init__(self, jobs: int | None = None) -> None:
        self.places = jobs or len(os.sched_getaffinity(0))
        self._pools: list[ProcessPoolExecutor | None] = [None] * self.places
        self._running: dict[int, Future[Any]] = {}

    def submit(self, work: Callable[..., Result], *given: object) -> Future[Result]:
        at = next(at for at in range(self.places) if at not in self._running or self._running[at].done())
        # A fresh process has no threads and locks of this one.
        pool = self._pools[at] or ProcessPoolExecutor(1, get_context("spawn"), begin)
        try:
            future = pool.submit(work, *given)
        except BrokenProcessPool:
            # It was killed while it had nothing to do.
            pool = ProcessPoolExecutor(1, get_context("spawn"), begin)
            future = pool.submit(work, *given)
        self._pools[at], self._running[at] = pool, future
        return future

    def loss(self, future: Future[Any]) -> Loss | None:
        if not isinstance(future.exception(), BrokenProcessPool):
            return None
        at = next(at for at, running in self._running.items() if running is future)
        self._pools[at] = None
        return Loss.WORKER

    def close(self) -> None:
        for pool in filter(None, self._pools):
            # Its public way waits for the end of what runs.
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(wait=True, cancel_futures=True)
        self._pools = [None] * self.places


class DaskWorkers(Workers):
    """Workers of a dask cluster, which read the files of the study at the same paths as this machine."""

    def __init__(self, client: Any, address: str) -> None:
        # dask publishes no types.
        self._client = client
        self._address = address
        # Pieces wait at the scheduler, so that no worker waits for us.
        threads: dict[str, int] = self._client.nthreads()
        self.places = 2 * max(1, sum(threads.values()))

    @classmethod
    def at(cls, address: str) -> DaskWorkers:
        """Those of the scheduler at an address, such as "tcp://10.0.0.1:8786".

        Raises `ffslab.InputError` when dask is not installed or nobody answers.
        """
        try:
            return cls(_client(address, ANSWER_S), address)
        except ImportError:
            raise InputError('--scheduler needs the package distributed: pip install "ffslab[cluster]"') from None
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(f"--scheduler {address}: no dask scheduler answers: {error}") from None

    def submit(self, work: Callable[..., Result], *given: object) -> Future[Result]:
        # Equal work is done again when it is asked for again: a lost worker would otherwise be remembered.
        executor = self._client.get_executor(pure=False)
        future: Future[Result] = executor.submit(work, *given)
        return future

    def loss(self, future: Future[Any]) -> Loss | None:
        from distributed.scheduler import KilledWorker

        if not future.cancelled():
            return Loss.WORKER if isinstance(future.exception(), KilledWorker) else None
        # The scheduler has gone, and all that it knew.
        if self._client.status != "running":
            self._client.close(timeout=1)
            try:
                self._client = _client(self._address, RETURN_S)
            except (OSError, TimeoutError) as error:
                raise InputError(
                    f"the dask scheduler at {self._address} has gone: {error}; what has run is in the store: run this "
                    "again to go on"
                ) from None
        return Loss.SCHEDULER

    def close(self) -> None:
        self._client.close()


def _client(address: str, timeout_s: float) -> Any:
    from distributed import Client

    make: Any = Client
    return make(address, timeout=timeout_s)
