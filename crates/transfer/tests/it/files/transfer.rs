//! Archives over a channel. The peer behaves like the published client, or misbehaves.

use std::{fs, path::Path, sync::Mutex};

use jackfield_model::Offer;
use jackfield_transfer::{
    Archive, ArchiveLimits, ArchivePart, Bundle, Channel as _, ChannelFrame, ConflictPolicy,
    PartError, TransferError, receive, send, unpack,
};
use proptest::{prelude::*, test_runner::TestRunner};
use tempfile::TempDir;

use crate::files::{
    helpers::{noise, offer, pack, runtime, tree, write},
    pack::bytes,
    pipe::{Pipe, pipe},
};

fn quiet(_: u64, _: u64) {}

async fn bundle() -> (Bundle, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "noise", noise(150_000));
    write(folder.path(), "sub/text", "hello");
    let bundle = pack(folder.path(), ArchiveLimits::default()).await.unwrap();
    (bundle.unwrap(), folder)
}

async fn part(folder: &Path, offer: &Offer) -> ArchivePart {
    ArchivePart::open(folder, offer, ArchiveLimits::default())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_folder_arrives_as_it_was_sent() {
    let (bundle, folder) = bundle().await;
    let parts = tempfile::tempdir().unwrap();
    let part = part(parts.path(), bundle.offer()).await;
    let (mut left, mut right) = pipe();
    let (sent, taken) = (Mutex::default(), Mutex::default());
    let record = |progress: &Mutex<Vec<u64>>, done, total| {
        assert_eq!(total, bundle.size());
        progress.lock().unwrap().push(done);
    };
    let (done, archive) = tokio::join!(
        send(&mut left, &bundle, 0, |done, total| record(
            &sent, done, total
        )),
        receive(&mut right, part, |done, total| record(&taken, done, total)),
    );
    done.unwrap();
    let into = tempfile::tempdir().unwrap();
    let archive = archive.unwrap();
    unpack(
        &archive,
        into.path(),
        ConflictPolicy::Refuse,
        ArchiveLimits::default(),
    )
    .await
    .unwrap();
    assert_eq!(tree(into.path()), tree(folder.path()));
    for progress in [sent, taken] {
        let progress = progress.into_inner().unwrap();
        assert_eq!(progress[..3], [0, 65_536, 131_072]);
        assert_eq!(progress.last(), Some(&bundle.size()));
    }
}

#[tokio::test]
async fn a_sender_speaks_as_the_published_client_does() {
    let (bundle, _folder) = bundle().await;
    let (mut left, mut right) = pipe();
    let read = async {
        let mut frames = Vec::new();
        while let Some(frame) = right.recv().await.unwrap() {
            frames.push(frame);
        }
        frames
    };
    let (done, frames) = tokio::join!(send(&mut left, &bundle, 0, quiet), read);
    done.unwrap();
    let ChannelFrame::Text(header) = &frames[0] else {
        panic!("no header");
    };
    let header: serde_json::Value = serde_json::from_str(header).unwrap();
    assert_eq!(
        header,
        serde_json::json!({
            "type": "header",
            "transfer_id": bundle.offer().transfer_id,
            "zip_size": bundle.size(),
        })
    );
    let (last, middle) = frames[1..].split_last().unwrap();
    assert_eq!(
        *last,
        ChannelFrame::Text(r#"{"type":"complete"}"#.to_owned())
    );
    let mut sent: Vec<u8> = Vec::new();
    for frame in middle {
        let ChannelFrame::Binary(bytes) = frame else {
            panic!("a text between the bytes");
        };
        sent.extend(bytes);
    }
    let (last, whole) = middle.split_last().unwrap();
    assert!(matches!(last, ChannelFrame::Binary(bytes) if bytes.len() <= 65_536));
    for frame in whole {
        assert!(matches!(frame, ChannelFrame::Binary(bytes) if bytes.len() == 65_536));
    }
    assert_eq!(sent, bytes(&bundle, 0).await);
}

#[tokio::test]
async fn a_sender_that_goes_on_says_where_and_one_that_cannot_begins_anew() {
    let (bundle, _folder) = bundle().await;
    for (asked, offset_in_header) in [
        (1000, Some(1000)),
        (bundle.size(), Some(bundle.size())),
        (bundle.size() + 1, None),
    ] {
        let (mut left, mut right) = pipe();
        let first = async {
            let Some(ChannelFrame::Text(header)) = right.recv().await.unwrap() else {
                panic!("no header");
            };
            drop(right);
            serde_json::from_str::<serde_json::Value>(&header).unwrap()
        };
        let (_cut, header) = tokio::join!(send(&mut left, &bundle, asked, quiet), first);
        assert_eq!(
            header.get("offset").and_then(|it| it.as_u64()),
            offset_in_header
        );
    }
}

#[test]
fn a_transfer_that_is_cut_at_any_byte_goes_on_to_the_same_archive() {
    let runtime = runtime();
    let (bundle, _folder) = runtime.block_on(bundle());
    let whole = runtime.block_on(bytes(&bundle, 0));
    let cut_at = prop_oneof![
        Just(0),
        Just(1),
        Just(65_536),
        Just(whole.len() - 1),
        Just(whole.len()),
        0..whole.len(),
    ];
    let resumed = |cut: usize| {
        runtime.block_on(async {
            let parts = tempfile::tempdir().unwrap();
            // First attempt: the bytes before the cut stay.
            let first = part(parts.path(), bundle.offer()).await;
            let (mut left, mut right) = pipe();
            let speak = async {
                left.text(&header(bundle.offer(), None)).await;
                left.binary(&whole[..cut]).await;
                drop(left);
            };
            let ((), cut_off) = tokio::join!(speak, receive(&mut right, first, quiet));
            assert!(matches!(cut_off, Err(TransferError::Channel(_))));
            // Second attempt: only the missing bytes are sent.
            let second = part(parts.path(), bundle.offer()).await;
            let offset = second.received();
            assert_eq!(offset, cut as u64);
            let (mut left, mut right) = pipe();
            let (sent, archive) = tokio::join!(
                send(&mut left, &bundle, offset, quiet),
                receive(&mut right, second, quiet),
            );
            sent.unwrap();
            archive.unwrap().keep();
            let file = fs::read_dir(parts.path()).unwrap().next().unwrap();
            assert!(fs::read(file.unwrap().path()).unwrap() == whole);
        });
    };
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(40)
    };
    TestRunner::new(config)
        .run(&cut_at, |cut| {
            resumed(cut);
            Ok(())
        })
        .unwrap();
}

fn header(offer: &Offer, offset: Option<u64>) -> String {
    let offset = offset.map_or_else(String::new, |offset| format!(r#","offset":{offset}"#));
    format!(
        r#"{{"type":"header","transfer_id":"{}","zip_size":{}{offset}}}"#,
        offer.transfer_id, offer.zip_size
    )
}

const ARCHIVE: [u8; 100] = [7; 100];

/// Receives the peer's messages on top of `have` existing bytes. Returns the result and the number
/// of bytes afterwards.
async fn receive_from(
    there: usize,
    speak: impl AsyncFnOnce(&mut Pipe, &Offer),
) -> (Result<Archive, TransferError>, Option<u64>) {
    let parts = tempfile::tempdir().unwrap();
    let offer = offer(&ARCHIVE, 1);
    let mut part = part(parts.path(), &offer).await;
    part.append(&ARCHIVE[..there]).await.unwrap();
    let (mut left, mut right) = pipe();
    let speak = async {
        speak(&mut left, &offer).await;
        drop(left);
    };
    let ((), archive) = tokio::join!(speak, receive(&mut right, part, quiet));
    let file = fs::read_dir(parts.path()).unwrap().next();
    let len = file.map(|file| file.unwrap().metadata().unwrap().len());
    (archive, len)
}

/// Returns the error sent to the peer, and the number of bytes kept.
async fn refused(
    there: usize,
    speak: impl AsyncFnOnce(&mut Pipe, &Offer),
) -> (String, Option<u64>) {
    let (result, left) = receive_from(there, speak).await;
    (result.unwrap_err().to_string(), left)
}

#[tokio::test]
async fn texts_and_members_that_mean_nothing_are_skipped() {
    let (archive, _) = receive_from(0, async |peer, offer| {
        peer.text("no json").await;
        peer.text(r#"{"type":"hello"}"#).await;
        let header = header(offer, None);
        peer.text(&header.replace('{', r#"{"more":{"x":[1]},"#))
            .await;
        peer.binary(&[]).await;
        peer.text(r#"{"kind":"none"}"#).await;
        peer.binary(&ARCHIVE).await;
        peer.text(r#"{"type":"complete","more":1}"#).await;
    })
    .await;
    archive.unwrap();
}

#[tokio::test]
async fn endless_talk_without_an_archive_is_ended() {
    let (error, _) = refused(0, async |peer, _| {
        for _ in 0..1001 {
            peer.text(r#"{"type":"hello"}"#).await;
        }
    })
    .await;
    assert_eq!(error, "the other side sends much, and no archive");
}

#[tokio::test]
async fn a_header_without_an_offset_begins_anew() {
    for offset in [None, Some(0)] {
        let (archive, _) = receive_from(60, async |peer, offer| {
            peer.text(&header(offer, offset)).await;
            peer.binary(&ARCHIVE).await;
            peer.text(r#"{"type":"complete"}"#).await;
        })
        .await;
        archive.unwrap();
    }
}

#[tokio::test]
async fn a_header_with_the_right_offset_goes_on() {
    let (archive, _) = receive_from(60, async |peer, offer| {
        peer.text(&header(offer, Some(60))).await;
        peer.binary(&ARCHIVE[60..]).await;
        peer.text(r#"{"type":"complete"}"#).await;
    })
    .await;
    archive.unwrap();
}

#[tokio::test]
async fn a_header_that_lies_is_refused_and_what_is_there_stays() {
    for (wrong, words) in [
        (
            r#""transfer_id":"other","zip_size":100"#,
            "another transfer",
        ),
        (r#""transfer_id":"ID","zip_size":99"#, "another size"),
        (r#""transfer_id":"ID","zip_size":101"#, "another size"),
        (r#""transfer_id":"ID","zip_size":-1"#, "cannot be read"),
        (r#""transfer_id":"ID""#, "cannot be read"),
        (
            r#""transfer_id":"ID","zip_size":100,"offset":59"#,
            "where nobody asked",
        ),
        (
            r#""transfer_id":"ID","zip_size":100,"offset":61"#,
            "where nobody asked",
        ),
    ] {
        let (error, left) = refused(60, async |peer, offer| {
            let wrong = wrong.replace("ID", &offer.transfer_id);
            peer.text(&format!(r#"{{"type":"header",{wrong}}}"#)).await;
        })
        .await;
        assert!(error.contains(words), "{error:?} does not say {words:?}");
        assert_eq!(left, Some(60));
    }
}

#[tokio::test]
async fn messages_out_of_order_are_refused() {
    let (error, _) = refused(0, async |peer, _| peer.binary(b"x").await).await;
    assert_eq!(error, "the other side sent bytes before their header");
    let complete = r#"{"type":"complete"}"#;
    let (error, _) = refused(0, async |peer, _| peer.text(complete).await).await;
    assert_eq!(error, "the other side ended before it began");
    let (error, _) = refused(0, async |peer, offer| {
        peer.text(&header(offer, None)).await;
        peer.text(&header(offer, None)).await;
    })
    .await;
    assert_eq!(error, "the other side sent two headers");
}

#[tokio::test]
async fn more_bytes_than_offered_leave_nothing() {
    let (result, left) = receive_from(0, async |peer, offer| {
        peer.text(&header(offer, None)).await;
        peer.binary(&ARCHIVE).await;
        peer.binary(b"x").await;
    })
    .await;
    let error = result.unwrap_err();
    assert!(
        matches!(error, TransferError::Part(PartError::TooMuch(100))),
        "{error}"
    );
    assert_eq!(left, None);
}

#[tokio::test]
async fn fewer_or_other_bytes_than_offered_leave_nothing() {
    for (bytes, words) in [(&[7; 99][..], "99 of 100"), (&[8; 100][..], "SHA-256")] {
        let (error, left) = refused(0, async |peer, offer| {
            peer.text(&header(offer, None)).await;
            peer.binary(bytes).await;
            peer.text(r#"{"type":"complete"}"#).await;
        })
        .await;
        assert!(error.contains(words), "{error:?} does not say {words:?}");
        assert_eq!(left, None);
    }
}

#[tokio::test]
async fn a_cut_keeps_what_came() {
    let (result, left) = receive_from(0, async |peer, offer| {
        peer.text(&header(offer, None)).await;
        peer.binary(&ARCHIVE[..40]).await;
    })
    .await;
    assert!(matches!(result, Err(TransferError::Channel(_))));
    assert_eq!(left, Some(40));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_nothing_is_not_waited_for_for_ever() {
    let parts = tempfile::tempdir().unwrap();
    let taken = part(parts.path(), &offer(&ARCHIVE, 1)).await;
    let (_left, mut right) = pipe();
    let error = receive(&mut right, taken, quiet).await.unwrap_err();
    assert!(matches!(error, TransferError::Silent), "{error}");
    let (bundle, _folder) = bundle().await;
    let (mut left, _right) = pipe();
    let error = send(&mut left, &bundle, 0, quiet).await.unwrap_err();
    assert!(matches!(error, TransferError::Silent), "{error}");
}
