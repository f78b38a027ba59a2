//! The team stream against raw JSON: the seed's examples, the frames of the published server, and every mistake.

use jackfield_wire::json::{self, RawMembers};
use serde_json::{Value, value::RawValue};

use super::*;

mod client;
mod complete;
mod envelopes;
mod frames;
mod malformed;
mod properties;
mod published;
mod seed;

const AT: &str = "2026-03-01T10:00:00.000Z";

const STAMP: Stamp<'static> = Stamp {
    team_run_id: "run_1",
    run_version: 1,
    sequence: 7,
    source_node_id: "hub_1",
    origin: "local",
    received_at: AT,
};

const NESTED: [SubTeamNode<'static>; 2] = [
    SubTeamNode {
        name: "backend",
        team_id: "team_2",
    },
    SubTeamNode {
        name: "db",
        team_id: "team_3",
    },
];

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// An event of the team `team_1` itself.
fn outgoing(source: EventSource<'_>) -> OutgoingEvent<'_> {
    OutgoingEvent {
        team_id: "team_1",
        path: &[],
        event_id: 0x6f0e_1234_0000_4000_8000_0000_0000_002a,
        at: AT,
        source,
    }
}

/// What the member `lead` says.
fn lead(event: AgentEventData<'_>) -> OutgoingEvent<'_> {
    outgoing(EventSource::Agent {
        name: "lead",
        agent_id: "member_0a",
        event,
    })
}

fn envelope(event: &OutgoingEvent<'_>) -> String {
    write_envelope(event, &STAMP)
}

/// The flattened message with its stamp; fails if there is none.
fn flat(event: &OutgoingEvent<'_>) -> String {
    flatten(event, Some(&STAMP)).unwrap_or_else(|| panic!("{event:?}"))
}

/// The flattened message of a snapshot.
fn unstamped(event: &OutgoingEvent<'_>) -> String {
    flatten(event, None).unwrap_or_else(|| panic!("{event:?}"))
}

fn single(event: &OutgoingEvent<'_>) -> String {
    flatten_single(event).unwrap_or_else(|| panic!("{event:?}"))
}

fn read(text: &str) -> Vec<PublishedEnvelope<'_>> {
    read_envelopes(text, &EnvelopeLimits::default())
        .unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

/// The one envelope that `text` is.
fn read_one(text: &str) -> PublishedEnvelope<'_> {
    let [published] = <[_; 1]>::try_from(read(text)).unwrap();
    published
}

/// An envelope of the member `lead` around an event with this type and data.
fn published(event_type: &str, data: &str) -> String {
    format!(
        r#"{{"event_source_type":"AGENT","data":{{"agent_name":"lead","agent_event":{{"agent_id":"member_0a","event_type":"{event_type}","data":{data}}}}}}}"#
    )
}

/// An envelope inside so many wrappers, whose nodes are `n1`, `n2` and so on from the outermost.
fn wrapped(inner: &str, levels: usize) -> String {
    (1..=levels).rev().fold(inner.to_owned(), |inner, level| {
        format!(
            r#"{{"team_id":"t{level}","event_source_type":"SUB_TEAM","data":{{"sub_team_node_name":"n{level}","sub_team_event":{inner}}}}}"#
        )
    })
}

/// Whether every field of `expected` is in `written` with its value and in the same order; `written` may have more.
fn assert_holds(written: &str, expected: &str) {
    let (has, wants) = (raw(written), raw(expected));
    if let Some(wants) = RawMembers::of(wants) {
        let has = RawMembers::of(has).unwrap_or_else(|| panic!("{written} is no object"));
        let mut rest = has.iter();
        for want in wants.iter() {
            let found = rest.find(|member| member.name == want.name);
            let found =
                found.unwrap_or_else(|| panic!("no {} in its place in {written}", want.name));
            assert_holds(found.value.get(), want.value.get());
        }
    } else if let Some(wants) = json::elements(wants) {
        let has = json::elements(has).unwrap_or_else(|| panic!("{written} is no array"));
        assert_eq!(has.len(), wants.len(), "{written}");
        for (has, want) in has.iter().zip(wants) {
            assert_holds(has.get(), want.get());
        }
    } else {
        assert_eq!(value(written), value(expected));
    }
}
