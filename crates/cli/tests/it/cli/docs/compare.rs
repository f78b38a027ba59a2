//! Compares a program's output with a page. Peer ids, ports, times and tickets differ from the page.

/// Replaces everything that changes from run to run by a placeholder.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (word, length) = if let Some(length) = peer_id(rest) {
            ("PEER", length)
        } else if let Some(length) = moment(rest) {
            ("TIME", length)
        } else if let Some(length) = port(rest) {
            ("/tcp/PORT", length)
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        out += word;
        rest = &rest[length..];
    }
    out
}

/// The length of the peer id at the start of the text.
fn peer_id(text: &str) -> Option<usize> {
    const LENGTH: usize = 52;
    let id = text.get(..LENGTH)?;
    let is_id = id.starts_with("12D3KooW") && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_id.then_some(LENGTH)
}

/// The length of the timestamp (RFC 3339, in UTC) at the start of the text.
fn moment(text: &str) -> Option<usize> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let begin = text.as_bytes().get(..SHAPE.len())?;
    let is_match = |(byte, shape): (&u8, &u8)| {
        if *shape == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == shape
        }
    };
    if !begin.iter().zip(SHAPE).all(is_match) {
        return None;
    }
    let rest = &text.as_bytes()[SHAPE.len()..];
    let fraction = rest
        .iter()
        .take_while(|byte| **byte == b'.' || byte.is_ascii_digit());
    let length = SHAPE.len() + fraction.count();
    (text.as_bytes().get(length) == Some(&b'Z')).then_some(length + 1)
}

/// The length of the address's port at the start of the text.
fn port(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("/tcp/")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some("/tcp/".len() + digits)
}

/// Whether a printed line matches the page. `…` matches anything, including the rest of its word.
pub(super) fn is_match(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (masked(shown.trim_end()), masked(printed.trim_end()));
    let mut pieces: Vec<&str> = shown.split('…').collect();
    let last = pieces.pop().unwrap_or_default();
    let Some(first) = pieces.first().copied() else {
        return last == printed;
    };
    let begin = |piece: &'_ str| {
        piece
            .trim_end_matches(|c: char| c.is_ascii_alphanumeric())
            .len()
    };
    let Some(mut rest) = printed.strip_prefix(&first[..begin(first)]) else {
        return false;
    };
    for piece in &pieces[1..] {
        let piece = &piece[..begin(piece)];
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_each_time_is_no_difference() {
        let id = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";
        let other = "12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X";
        assert!(is_match(
            &format!("at /ip4/1.2.3.4/tcp/7412/p2p/{id} since 2026-11-16T10:45:00Z"),
            &format!("at /ip4/1.2.3.4/tcp/1/p2p/{other} since 2025-01-02T03:04:05.678Z"),
        ));
        assert!(is_match(
            "go http://h/invite/6d1f… claude",
            "go http://h/invite/a-b claude"
        ));
        assert!(is_match(r#"{"a":"x…","b":1}"#, r#"{"a":"yz","b":1}"#));
    }

    #[test]
    fn another_word_is_one() {
        for (shown, printed) in [
            ("connected as laptop", "connected as desktop"),
            (
                "go http://h/invite/6d1f… claude",
                "go http://h/invite/a-b exec",
            ),
            (
                "go http://h/invite/6d1f… claude",
                "come http://h/invite/a-b claude",
            ),
            ("at /tcp/x", "at /tcp/1"),
        ] {
            assert!(!is_match(shown, printed), "{shown} {printed}");
        }
    }
}
