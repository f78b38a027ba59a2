//! List of the judges with their pins. A new [`OutsideJudge`] or a new package pin is added here.

use super::{
    OutsideJudge, browser_is_here, install_node, install_python, node_is_here, python_is_here,
};

/// Python packages: a WebSocket client, a proxy, and the judge of the HTTP API.
pub(crate) const PYTHON: OutsideJudge = OutsideJudge {
    name: "Python",
    // Schemathesis generates test cases with hypothesis, whose version changes the generated cases.
    pins: &[
        ("websockets", "17.4"),
        ("proxy.py", "2.4.10"),
        ("schemathesis", "4.32.5"),
        ("hypothesis", "6.170.15"),
    ],
    folder: "venv",
    entry: "bin/python",
    variable: "JACKFIELD_JUDGE_PYTHON",
    pin_sign: "==",
    runtime: python_is_here,
    program: "python3",
    system_packages: &["python3", "python3-venv"],
    install: install_python,
};

const NODE: OutsideJudge = OutsideJudge {
    name: "Node",
    pins: &[("ws", "8.22.2")],
    folder: "npm",
    entry: "node_modules",
    variable: "JACKFIELD_JUDGE_NODE_PATH",
    pin_sign: "@",
    runtime: node_is_here,
    program: "node",
    system_packages: &["nodejs", "npm"],
    install: install_node,
};

/// A browser, which runs the page of the documentation. The browser is the system's.
const BROWSER: OutsideJudge = OutsideJudge {
    name: "Chromium",
    pins: &[("playwright-core", "1.65.1")],
    folder: "browser-npm",
    variable: "JACKFIELD_JUDGE_BROWSER",
    runtime: browser_is_here,
    system_packages: &["nodejs", "npm", "chromium"],
    ..NODE
};

/// A2A clients and servers of the A2A project, and Agno's. Each version has a separate folder, because one
/// folder cannot hold two versions of a package.
pub(crate) const A2A_PYTHON_1: OutsideJudge = OutsideJudge {
    name: "A2A 1.0 in Python",
    pins: &[
        ("a2a-sdk[grpc,signing]", "1.3.0"),
        ("cryptography", "50.0.2"),
        ("grpcio", "1.85.1"),
        ("httpx", "0.28.1"),
        ("pyjwt", "2.15.1"),
        ("sse-starlette", "3.7.0"),
        ("starlette", "1.10.0"),
        ("uvicorn", "0.54.0"),
    ],
    folder: "a2a-python-1",
    variable: "JACKFIELD_JUDGE_A2A_PYTHON_1",
    ..PYTHON
};

const A2A_PYTHON_03: OutsideJudge = OutsideJudge {
    name: "A2A 0.3 in Python",
    pins: &[
        ("a2a-sdk[grpc,signing]", "0.3.26"),
        ("agno", "3.1.10"),
        ("cryptography", "50.0.2"),
        ("fastapi", "0.162.4"),
        ("grpcio", "1.85.1"),
        ("httpx", "0.28.1"),
        ("pyjwt", "2.15.1"),
        // Agno's server does not load without this package.
        ("python-multipart", "0.0.33"),
        ("sse-starlette", "3.7.0"),
        ("uvicorn", "0.54.0"),
    ],
    folder: "a2a-python-03",
    variable: "JACKFIELD_JUDGE_A2A_PYTHON_03",
    ..PYTHON
};

pub(crate) const A2A_NODE_1: OutsideJudge = OutsideJudge {
    name: "A2A 1.0 in Node",
    pins: &[("@a2a-js/sdk", "1.3.0"), ("express", "5.3.0")],
    folder: "a2a-npm-1",
    variable: "JACKFIELD_JUDGE_A2A_NODE_1",
    ..NODE
};

const A2A_NODE_03: OutsideJudge = OutsideJudge {
    name: "A2A 0.3 in Node",
    pins: &[("@a2a-js/sdk", "0.3.14"), ("express", "5.3.0")],
    folder: "a2a-npm-03",
    variable: "JACKFIELD_JUDGE_A2A_NODE_03",
    ..NODE
};

/// Frameworks that offer their agents by A2A.
const A2A_ADK: OutsideJudge = OutsideJudge {
    name: "A2A of Google ADK",
    pins: &[
        ("a2a-sdk", "1.3.0"),
        ("google-adk[a2a]", "2.13.0"),
        ("google-genai", "2.34.0"),
        ("uvicorn", "0.54.0"),
    ],
    folder: "a2a-adk",
    variable: "JACKFIELD_JUDGE_A2A_ADK",
    ..PYTHON
};

const A2A_LANGGRAPH: OutsideJudge = OutsideJudge {
    name: "A2A of LangGraph",
    pins: &[
        ("langchain-core", "1.7.2"),
        ("langgraph", "1.2.20"),
        ("langgraph-api", "0.16.7"),
        ("langgraph-cli[inmem]", "0.4.40"),
        ("langgraph-runtime-inmem", "0.36.7"),
        ("uvicorn", "0.54.0"),
    ],
    folder: "a2a-langgraph",
    variable: "JACKFIELD_JUDGE_A2A_LANGGRAPH",
    ..PYTHON
};

/// Other implementations of libp2p: peers of the p2p door.
const P2P_PYTHON: OutsideJudge = OutsideJudge {
    name: "libp2p in Python",
    pins: &[
        ("libp2p", "0.8.1"),
        ("multiaddr", "0.2.0"),
        ("trio", "0.35.0"),
    ],
    folder: "p2p-python",
    variable: "JACKFIELD_JUDGE_P2P_PYTHON",
    ..PYTHON
};

const P2P_NODE: OutsideJudge = OutsideJudge {
    name: "libp2p in Node",
    pins: &[
        ("libp2p", "3.3.11"),
        ("@chainsafe/libp2p-noise", "17.0.0"),
        ("@chainsafe/libp2p-yamux", "8.0.1"),
        ("@libp2p/circuit-relay-v2", "4.2.13"),
        ("@libp2p/crypto", "5.1.23"),
        ("@libp2p/identify", "4.1.14"),
        ("@libp2p/ping", "3.1.13"),
        ("@libp2p/tcp", "11.0.28"),
        ("@multiformats/multiaddr", "13.0.3"),
    ],
    folder: "p2p-npm",
    variable: "JACKFIELD_JUDGE_P2P_NODE",
    ..NODE
};

/// Other implementations of WebRTC: peers that files go to. The bridge's published client uses the second.
const RTC_PYTHON: OutsideJudge = OutsideJudge {
    name: "WebRTC in Python",
    pins: &[("aiortc", "1.16.0")],
    folder: "rtc-python",
    variable: "JACKFIELD_JUDGE_RTC_PYTHON",
    ..PYTHON
};

const RTC_NODE: OutsideJudge = OutsideJudge {
    name: "WebRTC in Node",
    pins: &[("node-datachannel", "0.33.4")],
    folder: "rtc-npm",
    variable: "JACKFIELD_JUDGE_RTC_NODE",
    ..NODE
};

/// Clients of the MCP project, both editions: the first starts with a handshake, the second may omit the
/// handshake.
const MCP_PYTHON_1: OutsideJudge = OutsideJudge {
    name: "MCP 1 in Python",
    pins: &[("mcp", "1.30.0")],
    folder: "mcp-python-1",
    variable: "JACKFIELD_JUDGE_MCP_PYTHON_1",
    ..PYTHON
};

const MCP_PYTHON_2: OutsideJudge = OutsideJudge {
    name: "MCP 2 in Python",
    pins: &[("mcp", "2.3.0")],
    folder: "mcp-python-2",
    variable: "JACKFIELD_JUDGE_MCP_PYTHON_2",
    ..PYTHON
};

const OPENAI_PYTHON: OutsideJudge = OutsideJudge {
    name: "OpenAI in Python",
    pins: &[("openai", "3.51.0")],
    folder: "openai-python",
    variable: "JACKFIELD_JUDGE_OPENAI_PYTHON",
    ..PYTHON
};

/// LiteLLM as a client of OpenAI's API. It needs an older edition of the official client.
const LITELLM_CLIENT: OutsideJudge = OutsideJudge {
    name: "LiteLLM as a client",
    pins: &[
        ("litellm", "1.106.2"),
        // LiteLLM's responses do not load without this package.
        ("mcp", "2.3.0"),
        ("openai", "2.54.0"),
    ],
    folder: "litellm-python",
    variable: "JACKFIELD_JUDGE_LITELLM",
    ..PYTHON
};

const OPENAI_NODE: OutsideJudge = OutsideJudge {
    name: "OpenAI in Node",
    pins: &[
        ("openai", "7.55.0"),
        ("@ai-sdk/openai-compatible", "3.0.92"),
        ("ai", "7.0.173"),
    ],
    folder: "openai-npm",
    variable: "JACKFIELD_JUDGE_OPENAI_NODE",
    ..NODE
};

/// Clients of the Agent Client Protocol: its own SDKs, as editors.
const ACP_PYTHON: OutsideJudge = OutsideJudge {
    name: "ACP in Python",
    pins: &[
        ("agent-client-protocol[http]", "0.12.1"),
        ("httpx", "0.28.1"),
        ("pydantic", "2.14.3"),
        ("websockets", "17.4"),
    ],
    folder: "acp-python",
    variable: "JACKFIELD_JUDGE_ACP_PYTHON",
    ..PYTHON
};

const ACP_NODE: OutsideJudge = OutsideJudge {
    name: "ACP in Node",
    pins: &[
        ("@agentclientprotocol/sdk", "2.4.0"),
        ("ws", "8.22.2"),
        ("zod", "4.6.7"),
    ],
    folder: "acp-npm",
    variable: "JACKFIELD_JUDGE_ACP_NODE",
    ..NODE
};

/// The MCP project's package for tasks, with the project's client.
const MCP_TASKS_NODE: OutsideJudge = OutsideJudge {
    name: "MCP tasks in Node",
    pins: &[
        ("@modelcontextprotocol/client", "2.4.0"),
        ("@modelcontextprotocol/ext-tasks", "0.2.2"),
    ],
    folder: "mcp-tasks-npm",
    variable: "JACKFIELD_JUDGE_MCP_TASKS_NODE",
    ..NODE
};

/// A gateway for A2A, with which the benchmarks compare the hub; no test needs it.
pub(crate) const LITELLM: OutsideJudge = OutsideJudge {
    name: "LiteLLM",
    pins: &[("a2a-sdk", "1.3.0"), ("litellm[proxy]", "1.106.2")],
    folder: "litellm",
    variable: "JACKFIELD_BENCH_LITELLM",
    ..PYTHON
};

/// All judges.
pub(crate) const JUDGES: [OutsideJudge; 21] = [
    PYTHON,
    NODE,
    BROWSER,
    A2A_PYTHON_1,
    A2A_PYTHON_03,
    A2A_NODE_1,
    A2A_NODE_03,
    A2A_ADK,
    A2A_LANGGRAPH,
    P2P_PYTHON,
    P2P_NODE,
    RTC_PYTHON,
    RTC_NODE,
    MCP_PYTHON_1,
    MCP_PYTHON_2,
    OPENAI_PYTHON,
    LITELLM_CLIENT,
    OPENAI_NODE,
    ACP_PYTHON,
    ACP_NODE,
    MCP_TASKS_NODE,
];
