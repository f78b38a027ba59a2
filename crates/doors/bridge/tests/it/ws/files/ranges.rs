//! What the archive's headers say, and from where on it is sent.

use super::*;

const SIZE: u64 = 1000;

/// The headers of an answer, without the archive.
async fn head(place: &Place, headers: &[(&str, &str)]) -> Response {
    let mut request = place
        .ann
        .request(Method::HEAD, &format!("{}/content", path("t1")));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn a_range_to_the_end_is_honoured_and_any_other_is_not_looked_at() {
    let mut place = Place::open().await;
    let ann = place.ann.principal();
    place.offers(&ann, &offer("t1", SIZE)).await;
    let etag = format!("\"{}\"", "ab".repeat(32));
    for (headers, status, length, range) in [
        (&[][..], 200, "1000", None),
        (
            &[("Range", "bytes=0-")],
            206,
            "1000",
            Some("bytes 0-999/1000"),
        ),
        (
            &[("Range", "bytes=999-")],
            206,
            "1",
            Some("bytes 999-999/1000"),
        ),
        (&[("Range", "bytes=1-2")], 200, "1000", None),
        (&[("Range", "bytes=-5")], 200, "1000", None),
        (&[("Range", "lines=5-")], 200, "1000", None),
        (
            &[("Range", "bytes=5-"), ("If-Range", &etag)],
            206,
            "995",
            Some("bytes 5-999/1000"),
        ),
        (
            &[("Range", "bytes=5-"), ("If-Range", "\"other\"")],
            200,
            "1000",
            None,
        ),
    ] {
        let answer = head(&place, headers).await;
        let text = |name| answer.headers().get(name).map(|it| it.to_str().unwrap());
        assert_eq!(answer.status().as_u16(), status, "{headers:?}");
        assert_eq!(text("content-length"), Some(length), "{headers:?}");
        assert_eq!(text("content-range"), range, "{headers:?}");
        assert_eq!(text("etag"), Some(etag.as_str()));
        assert_eq!(text("x-content-type-options"), Some("nosniff"));
    }
    for past in ["1000", "99999999999999999999999"] {
        let range = format!("bytes={past}-");
        assert_eq!(
            head(&place, &[("Range", &range)]).await.status().as_u16(),
            416
        );
    }
    assert!(
        place.amy.sync().await.is_empty(),
        "a look does not trouble the agent"
    );
}
