"""Behaviour of the servers, selected by the text of a message; independent of the framework."""

import asyncio
import dataclasses

from stage import releases, tell

QUESTION = "Which colour?"
FAILURE = "I cannot do that"
FILE = {"name": "note.txt", "type": "text/plain", "bytes": b"Hello, file"}
DATA = {"answer": 42, "unit": "apples"}

# Interval and number of the pieces of `work` without a cancellation: 20 seconds.
PACE = 0.05
PATIENCE = 400
# Maximum time that `count` waits for its release.
RELEASED_AFTER = 10


@dataclasses.dataclass
class Say:
    """A piece of the answer."""

    text: str


class Ask:
    """Ends the turn with the question; the answer is the task's next message."""


class Fail:
    """The task fails."""


class Attach:
    """An artifact with the file, and one with the data."""


class Brief:
    """A message without a task, if the framework supports it."""


async def _released():
    # Polled, since frameworks have their own loops and threads.
    for _ in range(int(RELEASED_AFTER / PACE)):
        if releases.acquire(blocking=False):
            return
        await asyncio.sleep(PACE)


async def _count(first, last, pace):
    for number in range(first, last + 1):
        yield Say(f"{number} ")
        await asyncio.sleep(pace)


async def answer(text, is_answer=False):
    """The steps of an answer. Calls `stopped` if they end early."""
    is_stopped = True
    try:
        async for step in _steps(text, is_answer):
            yield step
        is_stopped = False
    finally:
        if is_stopped and text == "work":
            tell("stopped")


async def _steps(text, is_answer):
    if is_answer:
        yield Say(f"You said: {text}")
    elif text == "hello":
        yield Say("Hello, ")
        yield Say("world")
    elif text == "count":
        async for step in _count(1, 10, 0):
            yield step
        await _released()
        # Slow enough for a reconnecting client to find the task working.
        async for step in _count(11, 15, PACE):
            yield step
        tell("fifteen")
        async for step in _count(16, 20, PACE):
            yield step
    elif text == "work":
        for _ in range(PATIENCE):
            yield Say(". ")
            await asyncio.sleep(PACE)
    elif text == "ask":
        yield Ask()
    elif text == "fail":
        yield Fail()
    elif text == "file":
        yield Attach()
    elif text == "brief":
        yield Brief()
    else:
        yield Say(f"You said: {text}")
