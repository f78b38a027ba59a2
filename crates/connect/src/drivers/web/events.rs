//! Parser for server-sent events, line by line. Pure. An event ends with an empty line, as the standard
//! requires.

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drivers) struct SseEvent {
    /// Name of the event; empty for most.
    pub(in crate::drivers) name: String,
    /// Content of the event.
    pub(in crate::drivers) data: String,
}

/// Parser with the event being read.
#[derive(Debug, Default)]
pub(in crate::drivers) struct SseParser {
    name: String,
    data: Option<String>,
}

impl SseParser {
    /// Parses a line. Returns the event that ends with it.
    pub(in crate::drivers) fn line(&mut self, line: &str) -> Option<SseEvent> {
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            let data = self.data.take()?;
            return Some(SseEvent { name, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.name),
            // Comments, and fields that only a reconnecting reader needs.
            _ => {}
        }
        None
    }

    /// Returns the event that was incomplete at the end of the response. Some servers omit the last empty
    /// line.
    pub(in crate::drivers) fn last(mut self) -> Option<SseEvent> {
        self.line("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<(String, String)> {
        let mut reading = SseParser::default();
        let mut all: Vec<_> = text.lines().filter_map(|line| reading.line(line)).collect();
        all.extend(reading.last());
        all.into_iter()
            .map(|event| (event.name, event.data))
            .collect()
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        assert_eq!(
            events(
                ": hello\n\nevent: error\ndata: one\ndata:two\nid: 4\nretry: 3\n\nevent: lost\n\ndata\n\ndata: end"
            ),
            [event("error", "one\ntwo"), event("", ""), event("", "end")]
        );
    }
}
