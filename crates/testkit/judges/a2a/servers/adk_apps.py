"""The API server of Google's published Agent Development Kit, with several apps.

    python adk_apps.py

The apps `dice` and `hello` have cards, and `bare` has none. See `stage.py` and `adk_server.py`, whose model answers.
"""

import json
import pathlib
import tempfile

import stage
from google.adk.cli.fast_api import get_fast_api_app

CODE = """
import adk_server
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name={name!r}, description="Answers by the text", model=adk_server.Actor(model="actor"))
"""


def write_app(folder, name, url):
    """An app as the kit's own template has it; with a URL it gets a card."""
    app = folder / name
    app.mkdir()
    (app / "__init__.py").write_text("from . import agent\n")
    (app / "agent.py").write_text(CODE.format(name=name))
    if url:
        card = {
            "name": name,
            "description": "Answers by the text",
            "url": f"{url}/a2a/{name}",
            "version": "1",
            "capabilities": {},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [],
        }
        (app / "agent.json").write_text(json.dumps(card))


if __name__ == "__main__":
    listener, url = stage.listen()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for app in ["dice", "hello"]:
            write_app(folder, app, url)
        write_app(folder, "bare", None)
        stage.play(get_fast_api_app(agents_dir=name, web=False, a2a=True), listener)
