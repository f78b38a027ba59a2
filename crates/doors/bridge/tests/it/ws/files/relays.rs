//! Archives through the hub, whole and cut.

use std::pin::Pin;

use futures_util::StreamExt as _;
use reqwest::Body;

use super::*;

type Pieces = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

fn pieces_of(response: Response) -> Pieces {
    Box::pin(response.bytes_stream())
}

/// Reads an answer up to a byte or somewhat further, but not beyond its end; how far it came.
async fn read(pieces: &mut Pieces, from: u64, until: u64) -> u64 {
    let mut at = from;
    while at < until
        && let Some(Ok(got)) = soon(pieces.next()).await
    {
        assert_eq!(got, piece(at, got.len() as u64), "at {at}");
        at += got.len() as u64;
    }
    at
}

/// Where one round of a transfer is cut, and on which side.
struct Round {
    from: u64,
    sender: Option<u64>,
    receiver: Option<u64>,
}

impl Round {
    /// What the sender sends, and how it is cut.
    fn body(&self) -> (Body, oneshot::Sender<()>) {
        let (cut, is_cut) = oneshot::channel();
        let end = self.sender.unwrap_or(SIZE);
        let archive = archive(self.from, end, self.sender.map(|_| is_cut));
        (Body::wrap_stream(archive), cut)
    }

    /// Takes the receiver's part; how far it came.
    async fn receive(&self, response: Response, cut: oneshot::Sender<()>) -> u64 {
        let mut pieces = pieces_of(response);
        let until = self.sender.or(self.receiver).unwrap_or(SIZE);
        let at = read(&mut pieces, self.from, until).await;
        assert!(at >= until, "{at} of {until}");
        if self.sender.is_some() {
            assert_eq!(at, until);
            drop(cut);
            let next = soon(pieces.next()).await;
            assert!(next.is_some_and(|next| next.is_err()), "no clean end");
        }
        // What came beyond where it leaves is lost with it.
        at.min(until)
    }
}

/// Rounds that are cut at points that look like chance and are the same each time, now on this side, now on that, and one
/// that is not.
fn round(seed: u64, number: u64, from: u64) -> Round {
    let mut state = seed.wrapping_mul(31).wrapping_add(number);
    for _ in 0..4 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
    }
    let point = from + 1 + (state >> 33) % ((SIZE - from) / 2);
    let point = Some(point).filter(|_| number < 4);
    Round {
        from,
        sender: point.filter(|_| number.is_multiple_of(2)),
        receiver: point.filter(|_| !number.is_multiple_of(2)),
    }
}

/// The archive that is cut.
const SIZE: u64 = 3 << 20;
/// The one that is large.
const LARGE: u64 = 64 << 20;

#[tokio::test]
async fn an_archive_of_64_mib_goes_from_the_agent_to_its_caller_byte_by_byte() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", LARGE)).await;
    let receiving = async {
        let response = place.ann.fetch("t1", None).await;
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.content_length(), Some(LARGE));
        read(&mut pieces_of(response), 0, LARGE).await
    };
    let frame = place.amy.frame();
    let sending = async {
        let frame = frame.await;
        let (url, ticket) = meeting(&place.door, &frame);
        assert_eq!(
            (&ticket["offset"], &ticket["direction"]),
            (&json!(0), &json!("send"))
        );
        let body = Body::wrap_stream(archive(0, LARGE, None));
        let sent = reqwest::Client::new().put(url).body(body).send();
        soon(sent).await.unwrap().status().as_u16()
    };
    let (received, sent) = tokio::join!(receiving, sending);
    assert_eq!((received, sent), (LARGE, 204));
}

#[tokio::test]
async fn an_archive_of_64_mib_goes_from_the_caller_to_the_agent_byte_by_byte() {
    let mut place = Place::open().await;
    announce(&mut place, LARGE).await;
    let content = format!("{}/content", path("up"));
    let body = Body::wrap_stream(archive(0, LARGE, None));
    let sending = place.ann.request(Method::PUT, &content).body(body).send();
    let frame = place.amy.frame();
    let receiving = async {
        let frame = frame.await;
        let (url, ticket) = meeting(&place.door, &frame);
        assert_eq!(
            (&ticket["offset"], &ticket["direction"]),
            (&json!(0), &json!("receive"))
        );
        let response = reqwest::Client::new().get(url).send().await.unwrap();
        assert_eq!(response.content_length(), Some(LARGE));
        read(&mut pieces_of(response), 0, LARGE).await
    };
    let (sent, received) = tokio::join!(sending, receiving);
    assert_eq!((sent.unwrap().status().as_u16(), received), (204, LARGE));
}

async fn announce(place: &mut Place, size: u64) {
    let (status, _) = place
        .ann
        .post("/v1/agents/amy/transfers", &offer("up", size))
        .await;
    assert_eq!(status, 201);
    assert_eq!(place.signal().await["signal_type"], "prepare-upload");
}

#[tokio::test]
async fn a_download_that_is_cut_on_either_side_goes_on_where_it_was() {
    for seed in 1..=4 {
        let mut place = Place::open().await;
        let ann = place.ann.principal();
        place.offers(&ann, &offer("t1", SIZE)).await;
        let mut at = 0;
        for number in 0..5 {
            let round = round(seed, number, at);
            let (body, cut) = round.body();
            let receiving = async {
                let response = place.ann.fetch("t1", Some(round.from)).await;
                assert_eq!(response.status().as_u16(), 206);
                round.receive(response, cut).await
            };
            let frame = place.amy.frame();
            let sending = async {
                let (url, ticket) = meeting(&place.door, &frame.await);
                assert_eq!(ticket["offset"], round.from);
                soon(reqwest::Client::new().put(url).body(body).send()).await
            };
            let (came, sent) = tokio::join!(receiving, sending);
            at = came;
            if number == 4 {
                assert_eq!(sent.unwrap().status().as_u16(), 204);
            }
        }
        assert_eq!(at, SIZE, "seed {seed}");
    }
}

#[tokio::test]
async fn an_upload_that_is_cut_on_either_side_goes_on_where_it_was() {
    for seed in 5..=8 {
        let mut place = Place::open().await;
        announce(&mut place, SIZE).await;
        let mut at = 0;
        for number in 0..5 {
            let round = round(seed, number, at);
            let (body, cut) = round.body();
            let content = format!("{}/content?offset={}", path("up"), round.from);
            let sending = place.ann.request(Method::PUT, &content).body(body).send();
            let frame = place.amy.frame();
            let receiving = async {
                let (url, ticket) = meeting(&place.door, &frame.await);
                assert_eq!(ticket["offset"], round.from);
                let response = reqwest::Client::new().get(url).send().await.unwrap();
                round.receive(response, cut).await
            };
            let (sent, came) = tokio::join!(sending, receiving);
            at = came;
            if number == 4 {
                assert_eq!(sent.unwrap().status().as_u16(), 204);
            }
        }
        assert_eq!(at, SIZE, "seed {seed}");
    }
}
