//! What agents of each protocol can say, and what they can be told.

use super::{Matter, Passage, Protocol};

/// How something passes from, or to, an agent of this protocol.
pub(super) fn passage(callee: Protocol, matter: Matter) -> Passage {
    match callee {
        Protocol::Agora => agora(matter),
        Protocol::Bridge => bridge(matter),
        Protocol::A2a => a2a(matter),
        Protocol::Team => team(matter),
        Protocol::P2p => p2p(matter),
    }
}

fn agora(matter: Matter) -> Passage {
    Passage::whole(match matter {
        Matter::OneShot => "`reply`",
        Matter::Streamed => "`reply_chunk`",
        Matter::Kinds => "`reply_chunk` with `kind`",
        Matter::Attachment => "`attachments` in the payload of its last frame, links or bytes",
        Matter::Ask => "`reply` with `input_required`; the answer is a `message`",
        Matter::CancelByCaller | Matter::CallerGone | Matter::Timeout | Matter::SlowReader => {
            "is told `cancel`"
        }
        Matter::AgentGone => "its connection ends",
        Matter::AgentError => "`error` with a code of its own",
        Matter::UnknownAgent | Matter::ForeignAgent => "hears nothing",
    })
}

fn bridge(matter: Matter) -> Passage {
    Passage::whole(match matter {
        Matter::OneShot => "`chunk`, then `done`, or `done` with `result`",
        Matter::Streamed => "`chunk`",
        Matter::Kinds => "`chunk` with `kind`",
        Matter::Attachment => "`attachments` of `done`, links or `data:` URLs",
        Matter::Ask => "`ask`, with the extension `input`; the answer is `answer`",
        Matter::CancelByCaller | Matter::CallerGone | Matter::Timeout | Matter::SlowReader => {
            "is told `cancel`"
        }
        Matter::AgentGone => {
            "its connection ends; with the extension `resume` it has 30 s to come back"
        }
        Matter::AgentError => "`error` with a code of its own",
        Matter::UnknownAgent | Matter::ForeignAgent => "hears nothing",
    })
}

fn a2a(matter: Matter) -> Passage {
    match matter {
        Matter::OneShot => Passage::whole("a task that is `completed`"),
        Matter::Streamed => Passage::whole("artifact updates"),
        Matter::Kinds => Passage::whole("status updates `working` with `metadata.kind`"),
        Matter::Attachment => Passage::whole("a part of an artifact that is a file"),
        Matter::Ask => Passage::whole("`input-required`; the answer goes to the same task"),
        Matter::CancelByCaller | Matter::CallerGone | Matter::Timeout | Matter::SlowReader => {
            Passage::whole("is told `CancelTask`")
        }
        Matter::AgentGone => Passage::folded(
            "a stream that breaks off is taken up again, for up to 5 minutes; then `offline`",
        ),
        Matter::AgentError => Passage::folded("a task that is `failed` has words and no code"),
        Matter::UnknownAgent | Matter::ForeignAgent => Passage::whole("hears nothing"),
    }
}

fn team(matter: Matter) -> Passage {
    Passage::whole(match matter {
        Matter::OneShot | Matter::Streamed | Matter::Kinds | Matter::Attachment | Matter::Ask => {
            "as its coordinator says it"
        }
        Matter::CancelByCaller | Matter::CallerGone | Matter::Timeout | Matter::SlowReader => {
            "its coordinator is told, and who works for it"
        }
        Matter::AgentGone => "its coordinator leaves",
        Matter::AgentError => "its coordinator fails",
        Matter::UnknownAgent | Matter::ForeignAgent => "hears nothing",
    })
}

fn p2p(matter: Matter) -> Passage {
    match matter {
        Matter::OneShot => Passage::whole("`result`, or a plain body"),
        Matter::Streamed => {
            Passage::whole("`chunk`, by 1.1.0; the words of a plain body as they come")
        }
        Matter::Kinds => {
            Passage::folded("a peer tells status lines, nothing of thinking and tools")
        }
        Matter::Attachment => Passage::folded("a peer gives links in the words of its answer"),
        Matter::Ask => Passage::not("a peer has no way to ask: what it gives is its answer"),
        Matter::CancelByCaller | Matter::CallerGone | Matter::Timeout | Matter::SlowReader => {
            Passage::whole("its stream is reset")
        }
        Matter::AgentGone => Passage::whole("its connection ends"),
        Matter::AgentError => {
            Passage::folded("an error of a peer has words and a number, which becomes `peer_error`")
        }
        Matter::UnknownAgent | Matter::ForeignAgent => Passage::whole("hears nothing"),
    }
}
