//! A signature proves possession of the key, for the signed content only, once, and for a limited
//! time.

use jackfield_peer::{
    proof::{Statement, sign},
    wire::registry::Proof,
};

use super::super::challenges::Challenges;
use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn seconds(count: i64) -> Timestamp {
    Timestamp::from_second(count).unwrap()
}

struct Signed {
    challenges: Challenges,
    peer: Peer,
    addresses: Vec<String>,
}

impl Signed {
    fn new() -> Self {
        let peer = Peer::new();
        let addresses = vec![peer.address()];
        Self {
            challenges: Challenges::new(),
            peer,
            addresses,
        }
    }

    fn statement(&self) -> Statement<'_> {
        Statement::Register {
            name: "a",
            addresses: &self.addresses,
        }
    }

    fn proof(&self) -> Proof {
        let challenge = self.challenges.issue(&self.peer.id, NOW);
        sign(&self.peer.key, &challenge, &self.statement()).unwrap()
    }

    fn refusal(&self, proof: &Proof, statement: &Statement<'_>, now: Timestamp) -> String {
        let refused = self.challenges.check(&self.peer.id, proof, statement, now);
        let refused = refused.unwrap_err();
        assert_eq!(refused.reason, Reason::Unauthorized);
        refused.text.into_owned()
    }
}

#[test]
fn the_peers_own_signature_is_good_once() {
    let signed = Signed::new();
    let proof = signed.proof();
    let check = || {
        signed
            .challenges
            .check(&signed.peer.id, &proof, &signed.statement(), NOW)
    };
    check().unwrap();
    assert!(check().unwrap_err().text.contains("used before"));
}

#[test]
fn a_signature_is_good_for_what_was_signed_and_nothing_else() {
    let signed = Signed::new();
    let proof = signed.proof();
    let elsewhere = [Peer::new().address()];
    for other in [
        Statement::Register {
            name: "b",
            addresses: &signed.addresses,
        },
        Statement::Register {
            name: "a",
            addresses: &elsewhere,
        },
        Statement::Register {
            name: "a",
            addresses: &[],
        },
        Statement::Renew,
        Statement::Remove,
    ] {
        signed.refusal(&proof, &other, NOW);
    }
    signed
        .challenges
        .check(&signed.peer.id, &proof, &signed.statement(), NOW)
        .unwrap();
}

#[test]
fn another_peers_key_proves_nothing() {
    let signed = Signed::new();
    let attacker = Peer::new();
    let challenge = signed.challenges.issue(&signed.peer.id, NOW);
    let own_words = sign(&attacker.key, &challenge, &signed.statement()).unwrap();
    signed.refusal(&own_words, &signed.statement(), NOW);
    let text = signed.statement().text(&signed.peer.id, &challenge);
    let signature = attacker.key.sign(text.as_bytes()).unwrap();
    let encode = |bytes: &[u8]| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(bytes)
    };
    for public_key in [None, Some(encode(&attacker.key.public().encode_protobuf()))] {
        let proof = Proof {
            challenge: challenge.clone(),
            signature: encode(&signature),
            public_key,
        };
        signed.refusal(&proof, &signed.statement(), NOW);
    }
    let own_key = Some(encode(&signed.peer.key.public().encode_protobuf()));
    let good = Proof {
        public_key: own_key,
        ..sign(&signed.peer.key, &challenge, &signed.statement()).unwrap()
    };
    signed
        .challenges
        .check(&signed.peer.id, &good, &signed.statement(), NOW)
        .unwrap();
}

#[test]
fn a_challenge_is_for_one_peer_of_one_registry_and_ends() {
    let signed = Signed::new();
    let proof = signed.proof();
    assert!(
        signed
            .refusal(&proof, &signed.statement(), seconds(120))
            .contains("ended")
    );
    let (other, elsewhere) = (Peer::new(), Challenges::new());
    for challenge in [
        signed.challenges.issue(&other.id, NOW),
        elsewhere.issue(&signed.peer.id, NOW),
        proof.challenge.replacen("120", "999", 1),
        String::new(),
        "...".to_owned(),
    ] {
        let forged = sign(&signed.peer.key, &challenge, &signed.statement()).unwrap();
        let error = signed.refusal(&forged, &signed.statement(), NOW);
        assert!(
            error.contains("not one that this registry gave"),
            "{challenge}: {error}"
        );
    }
    let garbled = Proof {
        signature: "!".to_owned(),
        ..signed.proof()
    };
    signed.refusal(&garbled, &signed.statement(), NOW);
    signed
        .challenges
        .check(&signed.peer.id, &proof, &signed.statement(), seconds(119))
        .unwrap();
}
