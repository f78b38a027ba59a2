"""Stands in for an agent that speaks the Agent Client Protocol on stdio.

It prints the documented lines of the protocol. The first word of a prompt selects the behaviour. Every line of standard
input is appended to the file named by the first argument, so that a test can check the requests.
"""
import json
import os
import subprocess
import sys
import threading

# Python would write bytecode beside the scripts.
sys.dont_write_bytecode = True
import others

LOG = sys.argv[1]
ABILITIES = sys.argv[2] if len(sys.argv) > 2 else ""
KNOWN = LOG + ".sessions"
lock = threading.Lock()
waiting = {}
cancelled = {}
# By session: its MCP servers, and the started server for calls of other agents.
servers = {}
started = {}
requests = 0


def write(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def update(session, **fields):
    write({"method": "session/update", "params": {"sessionId": session, "update": fields}})


def text(session, words):
    update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": words})


def ask(method, params):
    global requests
    with lock:
        requests += 1
        name = f"agent-{requests}"
    box = {"event": threading.Event()}
    waiting[name] = box
    write({"id": name, "method": method, "params": params})
    box["event"].wait()
    return box["answer"]


def known():
    return open(KNOWN).read().split() if os.path.exists(KNOWN) else []


def permission(session):
    call = {"toolCallId": "call_001", "title": "Run the tests", "kind": "execute", "rawInput": {"command": "make"}}
    update(session, sessionUpdate="tool_call", status="pending", **call)
    answer = ask("session/request_permission", {
        "sessionId": session,
        "toolCall": call,
        "options": [
            {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "once", "name": "Once", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ],
    })
    text(session, "outcome " + json.dumps(answer["result"]["outcome"], sort_keys=True))
    return "end_turn"


def call_other(session, words):
    """Starts the server once per session, like real agents."""
    if session not in started:
        [server] = [it for it in servers[session] if it["name"] == "jackfield"]
        env = {variable["name"]: variable["value"] for variable in server["env"]}
        started[session] = others.Others(server["command"], server["args"], env)
    text(session, started[session].call(*others.order(words)))


def everything(session):
    update(session, sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "hm"})
    update(session, sessionUpdate="plan", entries=[{"content": "look", "priority": "high", "status": "pending"}])
    update(session, sessionUpdate="tool_call", toolCallId="call_001", title="Read a.txt", kind="read",
           status="pending", rawInput={"path": "a.txt"})
    update(session, sessionUpdate="tool_call_update", toolCallId="call_001", status="completed",
           content=[{"type": "content", "content": {"type": "text", "text": "hello"}}])
    update(session, sessionUpdate="hologram", content=1)
    write({"method": "_vendor/notice", "params": {}})
    print("this line is no message", flush=True)
    text(session, "a.txt says ")
    text(session, "hello")
    update(session, sessionUpdate="usage_update", used=53000, size=200000)
    return "end_turn"


def prompt(message):
    session = message["params"]["sessionId"]
    blocks = message["params"]["prompt"]
    words = blocks[0].get("text", "")
    word = words.split()[0] if words else ""
    reason = "end_turn"
    if word == "everything":
        reason = everything(session)
    elif word == "permission":
        reason = permission(session)
    elif word == "cost":
        update(session, sessionUpdate="usage_update", used=1000, size=200000,
               cost={"amount": float(words.split()[1]), "currency": "USD"})
    elif word == "refuse":
        text(session, "I would rather not")
        reason = "refusal"
    elif word == "fail":
        write({"id": message["id"], "error": {"code": -32603, "message": "Internal error", "data": {"details": "no model"}}})
        return
    elif word == "die":
        text(session, "so long")
        sys.stderr.write("out of memory\n")
        sys.stderr.flush()
        os._exit(3)
    elif word == "wait":
        text(session, "waiting")
        cancelled.setdefault(session, threading.Event()).wait()
        reason = "cancelled"
    elif word == "ignore":
        child = subprocess.Popen(["sleep", "1000"])
        text(session, f"pids {os.getpid()} {child.pid}")
        threading.Event().wait()
    elif word == "file":
        refused = ask("fs/read_text_file", {"sessionId": session, "path": "/etc/passwd"})
        text(session, "refused " + str(refused["error"]["code"]))
    elif word in others.ORDERS:
        call_other(session, words)
    elif word == "blocks":
        text(session, json.dumps(blocks[1:], sort_keys=True))
    else:
        text(session, f"{session} heard {words}")
    write({"id": message["id"], "result": {"stopReason": reason}})


def handle(message):
    method, params = message.get("method"), message.get("params", {})
    if method is None:
        box = waiting.pop(message["id"])
        box["answer"] = message
        box["event"].set()
    elif method == "initialize":
        can = {"loadSession": "load" in ABILITIES, "promptCapabilities": {"image": "image" in ABILITIES}}
        if "resume" in ABILITIES:
            can["sessionCapabilities"] = {"resume": {}}
        version = 2 if "future" in ABILITIES else 1
        write({"id": message["id"], "result": {
            "protocolVersion": version,
            "agentCapabilities": can,
            "agentInfo": {"name": "stand-in", "title": "Stand-in", "version": "7.1"},
            "authMethods": [],
        }})
    elif method == "session/new":
        if "locked" in ABILITIES:
            write({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
            return
        session = f"sess_{len(known()) + 1}"
        with open(KNOWN, "a") as file:
            file.write(session + "\n")
        servers[session] = params["mcpServers"]
        write({"id": message["id"], "result": {"sessionId": session}})
    elif method in ("session/load", "session/resume"):
        session = params["sessionId"]
        if session not in known():
            write({"id": message["id"], "error": {"code": -32002, "message": "Resource not found"}})
            return
        servers[session] = params["mcpServers"]
        if method == "session/load":
            update(session, sessionUpdate="user_message_chunk", content={"type": "text", "text": "told before"})
            text(session, "said before")
        write({"id": message["id"], "result": None})
    elif method == "session/prompt":
        cancelled[params["sessionId"]] = threading.Event()
        threading.Thread(target=prompt, args=(message,), daemon=True).start()
    elif method == "session/cancel":
        cancelled.setdefault(params["sessionId"], threading.Event()).set()


for line in sys.stdin:
    with open(LOG, "a") as file:
        file.write(line)
    handle(json.loads(line))
