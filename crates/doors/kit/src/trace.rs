//! The origin of a request according to its headers: the parent call and the caller's trace, which a protocol may also name in
//! its messages.

use http::{HeaderMap, HeaderValue};
use jackfield_core::hub::{Parent, Request};
use jackfield_model::{CallId, Failure, Reason};

/// Header with the id of a call: on a request the parent call, on a response the call that the request
/// opened.
pub const CALL_HEADER: &str = "jackfield-call";

/// Sets the parent call and the trace of `request` from the headers. Fails if the header `Jackfield-Call`
/// holds no call id.
pub fn set_origin(request: &mut Request, headers: &HeaderMap) -> Result<(), Failure> {
    if let Some(value) = headers.get(CALL_HEADER) {
        let parent = value.to_str().ok().and_then(CallId::parse);
        let parent = parent.ok_or_else(|| {
            let text = "header Jackfield-Call must be the id of a call";
            Failure::new(Reason::Invalid, text)
        })?;
        request.parent = Parent::Call(parent);
    }
    let trace = headers.get("traceparent");
    set_trace(request, trace.and_then(|value| value.to_str().ok()));
    Ok(())
}

/// Sets the trace of `request`. An unreadable trace is dropped, and an earlier one stays: the W3C standard requires a new
/// trace in that case.
pub fn set_trace(request: &mut Request, trace: Option<&str>) {
    if let Some(trace) = trace.filter(|text| is_traceparent(text)) {
        request.traceparent = Some(trace.to_owned());
    }
}

/// Adds the header [`CALL_HEADER`] with the id of the call to a response.
pub fn add_call_header(headers: &mut HeaderMap, call: CallId) {
    if let Ok(value) = HeaderValue::from_str(&call.to_string()) {
        headers.insert(CALL_HEADER, value);
    }
}

/// Returns whether `text` is a `traceparent` of the W3C standard that can be passed on.
pub fn is_traceparent(text: &str) -> bool {
    let is_hex = |text: &str| {
        text.bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    text.split('-').all(is_hex) && text.split('-').map(str::len).eq([2, 32, 16, 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_traceparent_is_passed_on() {
        assert!(is_traceparent(
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        ));
        for bad in [
            "",
            "00-1-2-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "é",
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }
}
