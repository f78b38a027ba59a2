"""Hooks for schemathesis: existing ids, for every second test case, and allowed callback URLs.

Disruptive operations get their own targets: the agent `doomed`, and tasks, tokens and callbacks created on demand.
"""

import itertools
import json
import os
import re
import threading
import time
from urllib.parse import parse_qsl, unquote, urlsplit

import requests
import schemathesis

DATA = json.loads(os.environ["JUDGE_DATA"])
TALLY = open(DATA["tally"], "w")
TURN = itertools.count()
NUMBER = itertools.count()
# Tasks that may still be open after their test case.
MADE = []
# Remotes added for or by a test case.
ADDED = []
# Teams created for or by a test case.
TEAMS = []
# Peers kept or blocked for or by a test case.
KEPT = []
# An allowed duration that an agent may exceed.
MILLISECONDS = re.compile("[1-9][0-9]*ms")
# A local server to dial; no outside host is ever called.
SERVER = DATA["server"]


def ask(method, path, body=None):
    headers = {"X-Platform-Secret": DATA["secret"]}
    answer = requests.request(method, DATA["url"] + path, json=body, headers=headers, timeout=20)
    assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
    return answer.json() if answer.content else None


def look_for(path, found):
    for _ in range(200):
        answer = ask("GET", path)
        if found(answer):
            return answer
        time.sleep(0.05)
    raise AssertionError(f"it never came: {path}")


def call(agent, text):
    body = {"text": text, "detach": True}
    task = ask("POST", f"/v1/agents/{agent}/calls", body)["task"]
    MADE.append(task)
    return task


def asked():
    task = call("asker", "ask")
    look_for(f"/v1/calls/{task}", lambda task: task["asks"])
    return task


def given_up():
    body = {"agent_id": "echo", "session_id": "s", "request_id": f"gone-{next(NUMBER)}"}
    body |= {"content": "hello", "mode": "async", "callback_url": "/gone"}
    ask("POST", "/api/relay", body)
    path = "/v1/callbacks?dead=true"
    return look_for(path, lambda found: found["callbacks"])["callbacks"][0]["task"]


def doomed():
    """Waits until the agent has reconnected."""
    look_for("/v1/agents?online=true", lambda found: any(agent["id"] == "doomed" for agent in found["agents"]))
    return "doomed"


def token():
    body = {"name": "spare", "owner": "bob", "scopes": []}
    return ask("POST", "/v1/tokens", body)["id"]


def remote():
    id = ask("POST", "/v1/remotes", {"url": SERVER})["id"]
    ADDED.append(id)
    return id


def team():
    """A new team, with a task on its board."""
    id = f"team-{next(NUMBER)}"
    members = [{"name": "echo", "agent": "echo"}, {"name": "asker", "agent": "asker"}]
    ask("POST", "/v1/teams", {"id": id, "coordinator": "echo", "members": members})
    ask("POST", f"/v1/teams/{id}/tasks", {"tasks": [{"task_name": "scan", "assignee_name": "echo"}]})
    TEAMS.append(id)
    return id


def team_that_asks():
    id = team()
    ask("POST", f"/v1/teams/{id}/messages", {"content": "ask", "target": "asker"})
    waits = "awaiting_tool_approval"
    look_for(f"/v1/teams/{id}", lambda team: any(agent["status"] == waits for agent in team["agents"]))
    return id


def mend_team(operation, path, body):
    """Fills in values that random data never matches: names of members, and questions."""
    if operation == "POST /v1/teams":
        members = [{"name": "echo", "agent": "echo"}]
        body |= {"id": f"team-{next(NUMBER)}", "coordinator": "echo", "members": members}
    if operation == "PATCH /v1/teams/{id}":
        body.clear()
        body |= {"description": f"number {next(NUMBER)}"}
    if operation == "POST /v1/teams/{id}/tasks":
        task = {"task_name": f"task-{next(NUMBER)}", "assignee_name": "echo"}
        body.clear()
        body |= {"tasks": [task]}
    if operation == "PATCH /v1/teams/{id}/tasks/{task}":
        path["task"] = "scan"
        body.clear()
        body |= {"status": "in_progress"}
    if operation == "POST /v1/teams/{id}/events":
        body.clear()
        body |= {"event_source_type": "TEAM", "data": {"new_status": "IDLE"}}
    if operation == "POST /v1/teams/{id}/decisions":
        body.clear()
        body |= {"invocation_id": "q", "approve": True}
    if operation == "POST /v1/teams/{id}/messages":
        body.clear()
        body |= {"content": "hello"}
    body.pop("target", None)


def peer():
    """A new peer id: an Ed25519 key, as identity multihash, in base 58."""
    digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number = int.from_bytes(bytes.fromhex("002408011220") + os.urandom(32), "big")
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = digits[digit] + text
    return "1" + text


def registered():
    id = peer()
    ask("POST", "/register", registration(id))
    return id


def registration(id):
    return {"agent_name": f"peer-{next(NUMBER)}", "peer_id": id, "addrs": [f"/ip4/127.0.0.1/tcp/4001/p2p/{id}"]}


def mend_peer(operation, path, body):
    """Fills in values that random data never matches: ids of peers."""
    if operation == "POST /register":
        body.clear()
        body |= registration(peer())
    if operation == "POST /heartbeat":
        body.clear()
        body |= {"peer_id": registered()}
    if operation.endswith(" /register/{peer}"):
        path["peer"] = registered()
        body.clear()
        body |= {"peer_id": path["peer"]}


def kept():
    """An unreachable peer; no outside host is ever called."""
    id = peer()
    ask("POST", "/v1/peers", contact(id))
    KEPT.append(id)
    return id


def contact(id):
    return {"address": f"/ip4/127.0.0.1/tcp/1/p2p/{id}", "keep": True}


def mend_contact(operation, path, body):
    """Fills in values that random data never matches: addresses and ids of peers."""
    if operation == "POST /v1/peers":
        body.clear()
        body |= contact(peer())
    elif "peer" in path:
        path["peer"] = kept()


ARCHIVE = b"hello"


def offer():
    """A new archive."""
    size = {"zip_size": len(ARCHIVE), "zip_sha256": "ab" * 32, "file_count": 1}
    return {"transfer_id": f"transfer-{next(NUMBER)}"} | size


def offered(agent="echo"):
    """A transfer offered by an agent."""
    id = offer()["transfer_id"]
    ask("POST", f"/v1/agents/{agent}/calls", {"text": id, "with_files": True, "stream": False})
    return id


def offered_to_platform():
    """A transfer offered by an agent to the platform."""
    id = offer()["transfer_id"]
    body = {"agent_id": "echo", "session_id": "s", "request_id": f"files-{id}"}
    body |= {"content": id, "mode": "async", "callback_url": "/callback", "with_files": True}
    ask("POST", "/api/relay", body)
    status = f"/api/task-status?agent_id=echo&request_id=files-{id}"
    look_for(status, lambda task: task["status"] == "completed")
    return id


def announced(agent="echo"):
    """A transfer announced to an agent."""
    body = offer()
    ask("POST", f"/v1/agents/{agent}/transfers", body)
    return body["transfer_id"]


def meeting(method):
    """A ticket for sending or receiving an archive; the other party waits."""
    id = offered("keeper") if method == "PUT" else announced("keeper")
    path = f"/v1/agents/keeper/transfers/{id}"
    other = "GET" if method == "PUT" else "PUT"
    body = {"data": ARCHIVE} if other == "PUT" else {}
    wait = lambda: requests.request(other, f"{DATA['url']}{path}/content", timeout=20, **body)
    threading.Thread(target=wait, daemon=True).start()
    for _ in range(20):
        said = ask("POST", f"{path}/signals?wait=10s", {"signal_type": "poll"})["signals"]
        found = [signal["payload"] for signal in said if signal["payload"] != "v=0"]
        if found:
            return found[0]
    raise AssertionError("no ticket came")


def mend_transfer(case, operation, path, body):
    """Fills in values that random data never matches: ids of transfers, and bodies of the offered size."""
    case.query = {}
    if operation == "POST /v1/agents/{id}/transfers":
        body.clear()
        body |= offer()
    elif operation == "POST /v1/agents/{id}/transfers/{transfer}/signals":
        path["transfer"] = offered()
        body.clear()
        body |= {"signal_type": "poll"}
    elif operation == "GET /v1/agents/{id}/transfers/{transfer}/content":
        path["transfer"] = offered()
        case.headers = {}
    elif operation == "GET /api/transfers/{id}/{transfer}/content":
        path["transfer"] = offered_to_platform()
        case.headers = {}
    elif operation == "PUT /v1/agents/{id}/transfers/{transfer}/content":
        path["transfer"] = announced()
        case.body = ARCHIVE
    elif operation.endswith(" /v1/transfers/{ticket}"):
        method = operation.split()[0]
        path["ticket"] = meeting(method)
        case.body = ARCHIVE if method == "PUT" else case.body


def ticket():
    """An unused ticket."""
    invite = ask("POST", "/v1/invites", {"agent": f"guest-{next(NUMBER)}"})
    return urlsplit(invite["url"]).path.split("/")[-1]


def link():
    """A new link to a file: its path parameters, and its query."""
    status = "/api/task-status?agent_id=echo&request_id=told"
    told = look_for(status, lambda task: task["status"] == "completed")
    url = urlsplit(told["attachments"][0]["url"])
    id, name = map(unquote, url.path.split("/")[-2:])
    return {"id": id, "name": name}, dict(parse_qsl(url.query))


# The id in the path, by operation.
PATHS = {
    "GET /v1/agents/{id}": lambda: "echo",
    "PATCH /v1/agents/{id}": doomed,
    "DELETE /v1/agents/{id}": doomed,
    "POST /v1/agents/{id}/calls": lambda: "echo",
    "POST /v1/agents/{id}/transfers": lambda: "echo",
    "POST /v1/agents/{id}/transfers/{transfer}/signals": lambda: "echo",
    "GET /v1/agents/{id}/transfers/{transfer}/content": lambda: "echo",
    "PUT /v1/agents/{id}/transfers/{transfer}/content": lambda: "echo",
    "GET /v1/calls/{id}": lambda: DATA["done"],
    "GET /v1/calls/{id}/events": lambda: DATA["done"],
    "POST /v1/calls/{id}/messages": lambda: DATA["waiting"],
    "POST /v1/calls/{id}/answer": asked,
    "POST /v1/calls/{id}/cancel": lambda: call("sleeper", "hello"),
    "POST /v1/calls/{id}/resend": given_up,
    "DELETE /v1/tokens/{id}": token,
    "GET /v1/remotes/{id}": remote,
    "GET /v1/remotes/{id}/card": remote,
    "DELETE /v1/remotes/{id}": remote,
    "GET /v1/teams/{id}": lambda: "crew",
    "PATCH /v1/teams/{id}": team,
    "DELETE /v1/teams/{id}": team,
    "GET /v1/teams/{id}/tasks": lambda: "crew",
    "POST /v1/teams/{id}/tasks": team,
    "PATCH /v1/teams/{id}/tasks/{task}": team,
    "POST /v1/teams/{id}/events": team,
    "POST /v1/teams/{id}/messages": team,
    "POST /v1/teams/{id}/stop": team,
    "POST /v1/teams/{id}/decisions": team_that_asks,
    "GET /api/agents/{id}/status": lambda: "echo",
    "POST /api/rtc-signal/{id}": lambda: "echo",
    "GET /api/transfers/{id}/{transfer}/content": lambda: "echo",
}
AGENTS = {"agent_id", "target_agent_id", "caller_agent_id"}


def is_spared(operation, id):
    """Whether a case would disrupt the run: it waits for the silent agent, changes a shared agent, or revokes the
    judge's own token."""
    is_change = operation.startswith(("PATCH", "DELETE")) or operation.endswith("/disconnect")
    agents = ["echo", "asker", "sleeper", "keeper", "crew"] if is_change else ["sleeper"]
    return id in agents or id == DATA["token_id"]


@schemathesis.hook
def before_call(context, case, **kwargs):
    operation = case.operation.label
    path = case.path_parameters or {}
    body = case.body if isinstance(case.body, dict) else {}
    # No outside host is ever called.
    if isinstance(body.get("callback_url"), str):
        body |= {"callback_url": "/callback", "mode": "async"}
    if operation == "POST /v1/remotes" and isinstance(body.get("url"), str):
        body["url"] = SERVER
        # `auth` names the source of a secret, and there is none.
        body.pop("auth", None)
    # The peer is unreachable, so only a kept peer can be added.
    if operation == "POST /v1/peers" and body.get("keep", False) is False:
        body["keep"] = True
    is_helped = next(TURN) % 2 == 0
    if operation in PATHS and "id" in path and (is_helped or is_spared(operation, path["id"])):
        path["id"] = PATHS[operation]()
    if is_helped and ("/register" in operation or operation == "POST /heartbeat"):
        mend_peer(operation, path, body)
        case.query = {}
    if is_helped and "/v1/teams" in operation:
        mend_team(operation, path, body)
    if is_helped and operation == "POST /v1/tickets":
        body |= {"origin": DATA["page"]}
    if is_helped and "/v1/peers" in operation:
        mend_contact(operation, path, body)
    for name in AGENTS & body.keys():
        if is_helped or is_spared(operation, body[name]):
            body[name] = "doomed" if operation == "POST /api/disconnect" else "echo"
    # An agent on a busy machine may exceed the shortest allowed timeout, which is a 504 in a case without help, too.
    for name in {"timeout", "idle"} & body.keys():
        if isinstance(body[name], str) and (is_helped or MILLISECONDS.fullmatch(body[name])):
            body[name] = "20s"
    if is_helped and operation == "POST /v1/calls/{id}/answer" and "ask_id" in body:
        body["ask_id"] = "q"
    if is_helped and operation == "GET /v1/files/{id}/{name}" and {"id", "name"} <= path.keys():
        signed, case.query = link()
        path |= signed
    if is_helped and operation == "GET /schemas/{protocol}/{name}" and {"protocol", "name"} <= path.keys():
        path |= {"protocol": "own", "name": "call-event.json"}
    if is_helped and "/transfers" in operation:
        mend_transfer(case, operation, path, body)
    if is_helped and operation == "GET /invite/{ticket}" and "ticket" in path:
        path["ticket"] = ticket()
    if is_helped and {"agent_id", "request_id"} <= (case.query or {}).keys():
        case.query |= {"agent_id": "echo", "request_id": "told"}


@schemathesis.hook
def after_call(context, case, response):
    line = [case.operation.label, response.request.method, response.status_code]
    print(json.dumps(line), file=TALLY, flush=True)
    if case.operation.label == "POST /v1/remotes" and response.status_code == 201:
        ADDED.append(response.json()["id"])
    if case.operation.label == "POST /v1/teams" and response.status_code == 201:
        TEAMS.append(response.json()["id"])
    if case.operation.label == "POST /v1/peers" and response.status_code == 201:
        KEPT.append(response.json()["id"])
    while KEPT:
        requests.post(f"{DATA['url']}/v1/peers/{KEPT[-1]}/unblock", timeout=20)
        requests.delete(f"{DATA['url']}/v1/peers/{KEPT.pop()}", timeout=20)
    while TEAMS:
        requests.post(f"{DATA['url']}/v1/teams/{TEAMS[-1]}/stop", json={}, timeout=20)
        requests.delete(f"{DATA['url']}/v1/teams/{TEAMS.pop()}", timeout=20)
    while ADDED:
        requests.delete(f"{DATA['url']}/v1/remotes/{ADDED.pop()}", timeout=20)
    while MADE:
        # The task may have ended, which is fine too.
        requests.post(f"{DATA['url']}/v1/calls/{MADE.pop()}/cancel", timeout=20)
