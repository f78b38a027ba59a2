"""An outside judge of the hub's HTTP API: schemathesis compares the hub's responses with /openapi.json.

    python judge.py target/debug/jackfield

Starts a hub in a temporary folder, attaches agents, and runs two passes: without any credentials, as allowed on
loopback, and with the platform's secret and the token of an owner without agents. Exit code 0 if every response was as
described, and every operation has succeeded at least once.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import requests

from agents import Agents
from receiver import Receiver

HERE = Path(__file__).parent
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]
# The first two are endless streams. The third is another protocol, with its own judges.
EXCLUDED = ["get_v1_events", "get_v1_teams_id_events", "post_mcp"]
# schemathesis fetches the description before the first test case.
DESCRIPTION = "GET /openapi.json"
# Generated test cases per operation, besides the examples of the description.
EXAMPLES = 20
# Each of the two passes takes about half a minute.
PASS_LIMIT = 180
SOON = 20
# A web page that may use the hub.
PAGE = "https://page.example"


def wait_for(what, look):
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come in {SOON} s")


class Hub:
    """A hub, run by `jackfield serve`."""

    def __init__(self, program, folder, receiver):
        self.receiver = receiver
        # The administrator's token in the data directory lets the hub prove its identity.
        data = folder / "data"
        data.mkdir(mode=0o700)
        admin = data / "admin-token"
        admin.touch(mode=0o600)
        admin.write_text("ab" * 32)
        config = folder / "jackfield.toml"
        config.write_text(f'callback_base = "{receiver.url}"\nallowed_origins = ["{PAGE}"]\nlog = "error"\n')
        command = [program, "serve", "--listen", "127.0.0.1:0"]
        command += ["--config", config, "--data-dir", data]
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("JACKFIELD_")
        }
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True
        )
        first = self.process.stdout.readline()
        assert "listens on " in first, f"the hub did not start: {first!r}"
        self.url = first.split("listens on ")[1].strip()
        self.secret = (data / "platform-secret").read_text().strip()

    def ask(self, method, path, body=None, **headers):
        response = requests.request(
            method, self.url + path, json=body, headers=headers, timeout=SOON
        )
        assert response.ok, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def relay(self, request, **more):
        body = {"agent_id": "echo", "session_id": "s", "request_id": request}
        body |= {"content": "hello", "mode": "async", **more}
        return self.ask("POST", "/api/relay", body, **{"X-Platform-Secret": self.secret})

    def stop(self):
        self.process.terminate()
        self.process.wait(SOON)


def team(id):
    members = [{"name": name, "agent": name} for name in ("echo", "asker")]
    return {"id": id, "coordinator": "echo", "members": members}


def set_up(hub):
    """Prerequisites of successful operations; `hooks.py` creates the rest on demand."""
    online = "/v1/agents?online=true"
    wait_for("the agents", lambda: len(hub.ask("GET", online)["agents"]) == 5)
    call = {"text": "hello", "keep": True, "stream": False}
    done = hub.ask("POST", "/v1/agents/echo/calls", call)
    waiting = hub.ask("POST", "/v1/agents/asker/calls", call)
    assert waiting["state"] == "input_required", waiting
    hub.relay("told", callback_url="/callback")
    hub.ask("POST", "/v1/teams", team("crew"))
    token = {"name": "judge", "owner": "ann", "scopes": ["call:*"]}
    token = hub.ask("POST", "/v1/tokens", token)
    return {
        "url": hub.url,
        "server": hub.receiver.url,
        "secret": hub.secret,
        "page": PAGE,
        "done": done["task"],
        "waiting": waiting["task"],
        "token": token["token"],
        "token_id": token["id"],
    }


def operations(hub):
    """The operations of the hub: ids by the names used in the tally."""
    return {
        f"{method.upper()} {path}": operation["operationId"]
        for path, methods in hub.ask("GET", "/openapi.json")["paths"].items()
        for method, operation in methods.items()
        if "operationId" in operation
    }


def judge(title, data, tally, headers):
    print(f"  {title}", flush=True)
    command = [sys.executable, "-m", "schemathesis.cli", "run"]
    command += [f"{data['url']}/openapi.json", "--checks", ",".join(CHECKS)]
    for operation in EXCLUDED:
        command += ["--exclude-operation-id", operation]
    for header in headers:
        command += ["--header", header]
    command += ["--phases", "examples,coverage,fuzzing", "--workers", "1"]
    command += ["--max-examples", str(EXAMPLES), "--generation-deterministic"]
    command += ["--request-timeout", str(SOON), "--continue-on-failure"]
    command += ["--warnings", "off", "--no-color"]
    environment = os.environ | {
        "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py"),
        "JUDGE_DATA": json.dumps(data | {"tally": str(tally)}),
    }
    result = subprocess.run(
        command,
        env=environment,
        cwd=tally.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PASS_LIMIT,
    )
    summary = result.stdout.split("= SUMMARY =")[-1]
    print("\n".join(f"    {line}" for line in summary.splitlines() if "generated" in line))
    assert result.returncode == 0, f"{title}:\n{result.stdout}"


def count(tally, answers):
    """Adds the responses of a pass: counts of statuses by operation."""
    for line in tally.read_text().splitlines():
        operation, method, status = json.loads(line)
        # Some cases use methods that the operation doesn't have.
        if operation.startswith(method):
            statuses = answers.setdefault(operation, {})
            statuses[status] = statuses.get(status, 0) + 1


def main(program):
    answers = {}
    with tempfile.TemporaryDirectory(prefix="jackfield-judge-") as folder:
        folder = Path(folder)
        receiver = Receiver()
        hub = Hub(program, folder, receiver)
        try:
            with Agents(hub.url):
                data = set_up(hub)
                described = operations(hub)
                passes = {
                    "without credentials": [],
                    "with the platform's secret and a token": [
                        f"X-Platform-Secret: {data['secret']}",
                        f"Authorization: Bearer {data['token']}",
                    ],
                }
                for number, (title, headers) in enumerate(passes.items()):
                    tally = folder / f"tally-{number}"
                    judge(title, data, tally, headers)
                    count(tally, answers)
        finally:
            hub.stop()
    for operation, statuses in sorted(answers.items()):
        shown = ", ".join(f"{status}: {statuses[status]}" for status in sorted(statuses))
        print(f"    {operation:<32} {shown}")
    unasked = [
        name
        for name, id in described.items()
        if name not in answers and id not in EXCLUDED and name != DESCRIPTION
    ]
    assert not unasked, f"never asked: {', '.join(sorted(unasked))}"
    unknown = set(EXCLUDED) - set(described.values())
    assert not unknown, f"left out, but not described: {', '.join(sorted(unknown))}"
    failed = [
        operation
        for operation, statuses in answers.items()
        if not any(200 <= status < 300 for status in statuses)
    ]
    assert not failed, f"never succeeded: {', '.join(sorted(failed))}"


try:
    main(sys.argv[1])
except Exception as problem:  # any failure is shown to the caller
    print(f"FAILED: {type(problem).__name__}: {problem}")
    sys.exit(1)
print("ok")
