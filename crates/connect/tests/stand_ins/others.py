"""Calls of the stand-ins to other agents: through the configured MCP server, started by its command line, with only those
environment variables that the protocol's own clients pass on."""

import json
import os
import subprocess

PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
# Messages to a stand-in: `call AGENT WORDS`, and `circle AGENT OTHER`, an endless loop.
ORDERS = ("call", "circle")


def order(prompt):
    """The agent to call, and the message."""
    what, agent, words = prompt.split(" ", 2)
    return agent, words if what == "call" else f"circle {words} {agent}"


class Others:
    def __init__(self, command, args, env):
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.server = subprocess.Popen(
            [command, *args], env={**passed_on, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.requests = 0
        client = {"name": "stand-in", "version": "1"}
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.say(method="notifications/initialized")

    def say(self, **message):
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self.server.stdin, flush=True)

    def request(self, method, **params):
        self.requests += 1
        self.say(id=self.requests, method=method, params=params)
        for line in self.server.stdout:
            message = json.loads(line)
            if message.get("id") == self.requests:
                return message["result"]
        raise EOFError("the server is gone")

    def call(self, agent, words):
        """The agent's answer, or the error."""
        arguments = {"agent": agent, "message": words}
        result = self.request("tools/call", name="call_agent", arguments=arguments)
        if result.get("isError"):
            return "refused: " + result["content"][0]["text"]
        return f"{agent} says {result['structuredContent']['text']}"
