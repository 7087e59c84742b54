"""Requests that arrive together are answered together: one matrix product for many rows, within 2 ms of waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import SimcompleteError

WAIT = 0.002  # seconds
MOST_ROWS = 256  # in one batch

Answer = Callable[[Any, NDArray[np.float64]], dict[str, Any]]


class Batches:
    """Rows with the same question wait for each other, and for the batch before them.

    Parameters
    ----------
    answer : callable
        From a question (anything that can be a key) and rows to arrays by name, one line per row.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.sizes: list[int] = []  # of batches, since they were last asked for
        self._waiting: dict[Any, list[tuple[NDArray[np.float64], asyncio.Future[Any]]]] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="answers")
        self._busy = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, question: Any, rows: NDArray[np.float64]) -> dict[str, Any]:
        """Answer for some rows."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(question, [])
        waiting.append((rows, future))
        if len(waiting) == 1:
            task = asyncio.create_task(self._flush(question))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        found: dict[str, Any] = await future
        return found

    async def _flush(self, question: Any) -> None:
        await asyncio.sleep(WAIT)
        async with self._busy:  # what arrives while another batch is answered joins this one
            batch = self._waiting.pop(question)
            while batch:
                some, size = 0, 0
                while some < len(batch) and (some == 0 or size + len(batch[some][0]) <= MOST_ROWS):
                    size += len(batch[some][0])
                    some += 1
                await self._answer(question, batch[:some])
                batch = batch[some:]

    async def _answer(self, question: Any, batch: list[tuple[NDArray[np.float64], asyncio.Future[Any]]]) -> None:
        run = asyncio.get_running_loop().run_in_executor
        rows = np.concatenate([each for each, _ in batch])
        self.sizes.append(len(rows))
        try:
            found = await run(self._worker, self.answer, question, rows)
        except SimcompleteError as error:
            if len(batch) == 1:
                _settle(batch[0][1], error)
                return
            for alone in batch:  # one of them is to blame, and the others are not
                await self._answer(question, [alone])
        except BaseException as error:
            for _, future in batch:
                _settle(future, error)
            if not isinstance(error, Exception):
                raise
        else:
            start = 0
            for each, future in batch:
                part = slice(start, start + len(each))
                start = part.stop
                if not future.done():  # a client that has gone
                    future.set_result({name: values[part] for name, values in found.items()})

    def close(self) -> None:
        """Let the worker end."""
        self._worker.shutdown(wait=False)


def _settle(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
