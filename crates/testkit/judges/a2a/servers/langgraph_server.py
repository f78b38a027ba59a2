"""The in-memory A2A server of the published framework LangGraph, with a scripted model.

    python langgraph_server.py [many]

The graph's card is at the well-known path. With `many` there are two graphs, and the path takes an `assistant_id`. The server has no files and no messages without a task. See `stage.py` and
`script.py`.
"""

import contextlib
import json
import os
import sys
import uuid

import script
import stage
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph import MessagesState, StateGraph
from langgraph.types import interrupt


class Actor(BaseChatModel):
    """Answers the last message by the script."""

    @property
    def _llm_type(self):
        return "script"

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        async with contextlib.aclosing(script.answer(messages[-1].text)) as steps:
            async for step in steps:
                if not isinstance(step, script.Say):
                    raise RuntimeError(script.FAILURE)
                chunk = ChatGenerationChunk(message=AIMessageChunk(content=step.text))
                if run_manager:
                    await run_manager.on_llm_new_token(step.text, chunk=chunk)
                yield chunk

    def _generate(self, *args, **kwargs):
        raise NotImplementedError


async def act(state):
    messages = state["messages"]
    if messages[-1].text == "ask":
        answer = interrupt(script.QUESTION)
        return {"messages": [{"role": "assistant", "content": f"You said: {answer}"}]}
    pieces = [piece async for piece in Actor().astream(messages)]
    return {"messages": [sum(pieces[1:], pieces[0])]}


graph = StateGraph(MessagesState).add_node("act", act).set_entry_point("act").compile()

if __name__ == "__main__":
    listener, url = stage.listen()
    graphs = ["actor"]
    if "many" in sys.argv:
        graphs.append("second")
    else:
        # The server's id for a graph of this name.
        known = uuid.uuid5(uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8"), "actor")
        os.environ["DEFAULT_A2A_ASSISTANT_ID"] = str(known)
    os.environ |= {
        "DATABASE_URI": ":memory:",
        "LANGGRAPH_API_URL": url,
        "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
        "LANGGRAPH_RUNTIME_EDITION": "inmem",
        "LANGSERVE_GRAPHS": json.dumps({name: f"{__file__}:graph" for name in graphs}),
        "LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev",
        "LANGSMITH_TRACING": "false",
        "LOG_LEVEL": "ERROR",
        "MIGRATIONS_PATH": "__inmem",
        "N_JOBS_PER_WORKER": "10",
        "REDIS_URI": "fake",
    }
    # The module reads its settings on import.
    from langgraph_api.server import app

    stage.play(app, listener)
