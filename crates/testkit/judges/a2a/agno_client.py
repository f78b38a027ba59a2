"""An outside judge of the A2A door: calls agents with the A2A client of the published `agno`, in both of its modes.

    python agno_client.py --transports NAME … --agents http://127.0.0.1:7411/a2a/agents/ID … --asking URL …

One line per promise; exit code 1 with the difference on failure.
"""

import asyncio
import logging

from agno.client.a2a import A2AClient
from agno.client.a2a.utils import map_stream_events_to_run_events

from promise import HELLO, arguments, check, same, step


# The client warns about every line of a stream except `event` and `data`.
logging.getLogger("agno").setLevel(logging.ERROR)


async def found(client):
    if client.protocol == "json-rpc":
        # In this mode the client looks for the card at the base URL, where the hub has none.
        return
    card = await client.aget_agent_card()
    check(card is not None and card.name, "the card is found", card)
    step("card: found")


async def one_shot(client):
    result = await client.send_message("hello")
    same((result.status, result.content), ("completed", HELLO), "the answer comes whole")
    check(result.task_id and result.context_id, "the task has its ids", result)
    again = await client.send_message("hello", context_id=result.context_id)
    same(again.context_id, result.context_id, "the conversation goes on")
    step("one-shot: completed, with the answer")


async def streamed(client):
    events = [event async for event in client.stream_message("hello")]
    pieces = [event.content for event in events if event.event_type == "content"]
    same("".join(pieces), HELLO, "the pieces make up the answer")
    check(any(event.event_type == "completed" and event.is_final for event in events), "the end is told", events)
    step("streamed: the answer in pieces, completed")


async def run(client):
    """Reads a stream with Agno's own remote agent."""
    if client.protocol == "json-rpc":
        # In this mode a stream begins with the task, as the protocol requires, and Agno takes the task for the end.
        return
    events = [event async for event in map_stream_events_to_run_events(client.stream_message("hello"), "agent")]
    same(events[-1].content, HELLO, "a run completes with the answer")
    same([event.event for event in events[:1]], ["RunStarted"], "a run is started")
    step("run: started, the answer in pieces, completed")


async def judge(options):
    for base in options.agents + options.asking:
        print(base, flush=True)
        for transport in options.transports:
            print(f" {transport}", flush=True)
            client = A2AClient(base, protocol=transport)
            for promise in (found, one_shot, streamed, run):
                await promise(client)


if __name__ == "__main__":
    asyncio.run(judge(arguments(["rest", "json-rpc"])))
