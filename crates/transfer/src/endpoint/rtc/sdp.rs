//! Fields of session descriptions that are read and written here; str0m handles the rest.

/// Attribute with the sender's start offset; unknown to other implementations, which skip it.
const OFFSET: &str = "a=x-jackfield-offset:";
/// Message limit of a peer that states none.
const DEFAULT_MAX_MESSAGE: usize = 64 * 1024;

/// Returns the description with an attribute that asks the sender to start at `offset`.
pub fn with_offset(sdp: &str, offset: u64) -> String {
    let at = media_start(sdp);
    format!("{}{OFFSET}{offset}\r\n{}", &sdp[..at], &sdp[at..])
}

/// Returns the offset that the caller asks for; `None` if missing or malformed.
pub fn offset_of(sdp: &str) -> Option<u64> {
    let value = attribute(&sdp[..media_start(sdp)], OFFSET)?;
    // `parse` would accept a sign too.
    if value.starts_with('+') {
        return None;
    }
    value.parse().ok()
}

/// Returns the largest message that the description's author accepts.
pub(super) fn max_message_of(sdp: &str) -> usize {
    match attribute(sdp, "a=max-message-size:").and_then(|value| value.parse().ok()) {
        // Any size.
        Some(0) => usize::MAX,
        Some(size) => size,
        None => DEFAULT_MAX_MESSAGE,
    }
}

/// Returns the id of the media section, to which candidates refer.
pub(super) fn mid_of(sdp: &str) -> &str {
    attribute(sdp, "a=mid:").unwrap_or("0")
}

/// Splits off the candidates, to judge them one by one: an unusable candidate must not spoil the description.
pub(super) fn split_candidates(sdp: &str) -> (String, Vec<&str>) {
    let is_candidate = |line: &&str| line.starts_with("a=candidate:");
    let (candidates, rest): (Vec<_>, Vec<_>) = sdp.lines().partition(is_candidate);
    // Some writers end lines without a carriage return.
    let rest = rest.iter().map(|line| format!("{}\r\n", line.trim_end()));
    (rest.collect(), candidates)
}

fn attribute<'a>(sdp: &'a str, name: &str) -> Option<&'a str> {
    sdp.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim_end)
}

/// Returns the offset of the first media section; earlier lines apply to the whole session.
fn media_start(sdp: &str) -> usize {
    if sdp.starts_with("m=") {
        return 0;
    }
    sdp.find("\nm=").map_or(sdp.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDP: &str =
        "v=0\r\ns=-\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:data\r\n";

    #[test]
    fn an_offset_is_written_before_the_first_media_section_and_read_again() {
        let sdp = with_offset(SDP, 4_194_304);
        assert_eq!(
            sdp,
            "v=0\r\ns=-\r\na=x-jackfield-offset:4194304\r\n\
             m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:data\r\n"
        );
        assert_eq!(offset_of(&sdp), Some(4_194_304));
        assert_eq!(offset_of(&sdp.replace("\r\n", "\n")), Some(4_194_304));
    }

    #[test]
    fn without_a_line_that_makes_sense_there_is_no_offset() {
        assert_eq!(offset_of(SDP), None);
        for nonsense in ["", "-1", "+1", "1.5", "0x10", "all", "18446744073709551616"] {
            let sdp = SDP.replace("m=", &format!("a=x-jackfield-offset:{nonsense}\r\nm="));
            assert_eq!(offset_of(&sdp), None, "{nonsense}");
        }
        let in_the_media_section = format!("{SDP}a=x-jackfield-offset:7\r\n");
        assert_eq!(offset_of(&in_the_media_section), None);
    }

    #[test]
    fn the_largest_message_is_what_the_other_side_says() {
        assert_eq!(max_message_of(SDP), 65536);
        let sized = |size: &str| format!("{SDP}a=max-message-size:{size}\r\n");
        assert_eq!(max_message_of(&sized("16384")), 16384);
        assert_eq!(max_message_of(&sized("0")), usize::MAX);
        assert_eq!(max_message_of(&sized("big")), 65536);
    }

    #[test]
    fn candidates_are_taken_out_whatever_they_say() {
        let sdp = format!("{SDP}a=candidate:1 1 udp 1 x.local 9 typ host\na=end-of-candidates\r\n");
        let (rest, candidates) = split_candidates(&sdp);
        assert_eq!(rest, format!("{SDP}a=end-of-candidates\r\n"));
        assert_eq!(candidates, ["a=candidate:1 1 udp 1 x.local 9 typ host"]);
        assert_eq!(mid_of(&rest), "data");
    }
}
