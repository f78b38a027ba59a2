//! What goes through the hub arrives whole, is never held, or breaks where both can see it.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::{FutureExt as _, stream};
use jackfield_core::principal::Principal;
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

use super::*;

fn lifetime() -> RequestLifetime {
    RequestLifetime::for_principal(&Principal::local())
}

fn tied(len: u64) -> (ArchiveSender, ArchiveReceiver) {
    let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    pipe(len, permit)
}

fn body(pieces: &[&'static str]) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
    let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::from(*piece))).collect();
    stream::iter(pieces)
}

/// All that comes out, and whether it ended cleanly.
async fn all(mut outlet: ArchiveReceiver) -> (String, bool) {
    let mut text = String::new();
    while let Some(piece) = outlet.next().await {
        match piece {
            Ok(piece) => text.push_str(std::str::from_utf8(&piece).unwrap()),
            Err(_) => return (text, false),
        }
    }
    (text, true)
}

#[tokio::test(start_paused = true)]
async fn what_goes_in_comes_out_and_ends() {
    let (inlet, outlet) = tied(6);
    let carry = inlet.copy_body(body(&["ab", "", "cdef"]), lifetime());
    let (carried, out) = tokio::join!(carry, all(outlet));
    assert_eq!((carried, out), (Ok(()), ("abcdef".to_owned(), true)));
}

#[tokio::test(start_paused = true)]
async fn only_a_whole_archive_ends_cleanly() {
    let broken = stream::iter([Ok(Bytes::from("ab")), Err("cut")]);
    let (inlet, outlet) = tied(4);
    let (carried, out) = tokio::join!(inlet.copy_body(broken, lifetime()), all(outlet));
    assert_eq!(carried.unwrap_err().reason, Reason::Invalid);
    assert_eq!(out, ("ab".to_owned(), false));
    for (pieces, reason, arrives) in [
        (&["ab", "c"][..], Reason::Invalid, "abc"),
        (&["ab", "cde"], Reason::TooLarge, "ab"),
        (&[], Reason::Invalid, ""),
    ] {
        let (inlet, outlet) = tied(4);
        let (carried, out) = tokio::join!(inlet.copy_body(body(pieces), lifetime()), all(outlet));
        assert_eq!(carried.unwrap_err().reason, reason);
        assert_eq!(out, (arrives.to_owned(), false));
    }
    // What comes after the last byte does not spoil what was there, but the sender hears of it.
    let (inlet, outlet) = tied(4);
    let carry = inlet.copy_body(body(&["abcd", "e"]), lifetime());
    let (carried, out) = tokio::join!(carry, all(outlet));
    assert_eq!(carried.unwrap_err().reason, Reason::TooLarge);
    assert_eq!(out, ("abcd".to_owned(), true));
    // A sender whose request is gone altogether.
    let (inlet, outlet) = tied(4);
    drop(inlet);
    assert_eq!(all(outlet).await, (String::new(), false));
}

#[tokio::test]
async fn a_large_archive_is_never_held_however_slow_its_reader_is() {
    const PIECE: usize = 64 << 10;
    const COUNT: usize = 1024;
    let drawn = Arc::new(AtomicUsize::new(0));
    let counted = drawn.clone();
    let source = stream::iter(0..COUNT).map(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Infallible>(Bytes::from(vec![7; PIECE]))
    });
    let (inlet, mut outlet) = tied((PIECE * COUNT) as u64);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { inlet.copy_body(source, lifetime()).await });
    for read in 0..COUNT {
        // Let the sender run as far as it can.
        for _ in 0..PIECES * 4 {
            tokio::task::yield_now().await;
        }
        let ahead = drawn.load(Ordering::SeqCst) - read;
        assert!(ahead <= PIECES + 1, "{ahead} pieces are held after {read}");
        assert_eq!(outlet.next().await.unwrap().unwrap().len(), PIECE);
    }
    assert!(outlet.next().await.is_none());
    assert_eq!(tasks.join_next().await.unwrap().unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_party_that_does_nothing_is_given_up_and_the_other_is_told() {
    let start = Instant::now();
    // A sender that stops.
    let (inlet, outlet) = tied(4);
    let stuck = body(&["ab"]).chain(stream::pending());
    let (carried, out) = tokio::join!(inlet.copy_body(stuck, lifetime()), all(outlet));
    assert_eq!(carried.unwrap_err().reason, Reason::Timeout);
    assert_eq!(out, ("ab".to_owned(), false));
    assert_eq!(start.elapsed(), IDLE);
    // A receiver that does not read.
    let (inlet, outlet) = tied(10);
    let carried = inlet.copy_body(body(&["a"; 10]), lifetime()).await;
    assert_eq!(carried.unwrap_err().reason, Reason::Timeout);
    assert_eq!(start.elapsed(), 2 * IDLE);
    let out = all(outlet).await;
    assert_eq!(out, ("a".repeat(PIECES), false), "what it had room for");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_leaves_is_told_to_the_sender_at_once() {
    let (inlet, outlet) = tied(4);
    let carry = inlet.copy_body(body(&["ab"]).chain(stream::pending()), lifetime());
    tokio::pin!(carry);
    assert!(carry.as_mut().now_or_never().is_none());
    drop(outlet);
    let left = carry.now_or_never().unwrap().unwrap_err();
    assert_eq!(left.reason, Reason::Cancelled);
    // Also if the sender is done and only the last piece was not taken.
    let (inlet, mut outlet) = tied(4);
    let carry = inlet.copy_body(body(&["ab", "cd"]), lifetime());
    tokio::pin!(carry);
    assert!(carry.as_mut().now_or_never().is_none());
    assert!(outlet.next().await.is_some());
    drop(outlet);
    assert!(carry.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_revoked_cuts_what_it_fetches() {
    let owner = Principal::local();
    let (inlet, outlet) = tied(4);
    let carry = inlet.copy_body(
        body(&["ab"]).chain(stream::pending()),
        RequestLifetime::for_principal(&owner),
    );
    owner.grant.revoked.cancel();
    let (carried, out) = tokio::join!(carry, all(outlet));
    assert_eq!(carried.unwrap_err().reason, Reason::Unauthorized);
    assert!(!out.1);
}
