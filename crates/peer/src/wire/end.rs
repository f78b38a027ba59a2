//! Finds the end of a JSON value that arrives in pieces.
//!
//! Some peers close their side after a request and others never do; both get their answer this way. The
//! detector counts brackets outside of strings and looks at each byte once. Whether the value is well-formed
//! is left to the parser.

use super::{BodyLimits, PeerInputError};

/// Detector of the end of one JSON value.
#[derive(Debug)]
pub struct JsonEnd {
    limits: BodyLimits,
    /// Bytes received.
    seen: usize,
    /// Line and column of the last byte, from 1.
    line: usize,
    column: usize,
    /// Open brackets.
    depth: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only whitespace so far.
    Before,
    /// Between the tokens of an array or an object.
    Tokens,
    /// Inside a string.
    Text,
    /// Inside a string, after a backslash.
    Escape,
    /// Inside a number or a literal that is the whole value: only whitespace or the end of the stream ends
    /// it.
    Scalar,
    /// The value is complete.
    After,
}

impl JsonEnd {
    /// Creates a detector that has seen no byte.
    pub fn new(limits: BodyLimits) -> Self {
        JsonEnd {
            limits,
            seen: 0,
            line: 1,
            column: 0,
            depth: 0,
            state: State::Before,
        }
    }

    /// Feeds the next bytes. Returns true once the value is complete; whitespace may follow, anything else is
    /// refused.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, PeerInputError> {
        self.seen = self.seen.saturating_add(bytes.len());
        if self.seen > self.limits.max_bytes {
            return Err(PeerInputError::too_large(self.limits.max_bytes, "bytes"));
        }
        for byte in bytes {
            self.column += 1;
            self.state = self.step(*byte)?;
            if *byte == b'\n' {
                (self.line, self.column) = (self.line + 1, 0);
            }
        }
        Ok(self.state == State::After)
    }

    /// Handles the end of the stream. Returns an error unless a value ended there.
    pub fn finish(&self) -> Result<(), PeerInputError> {
        match self.state {
            State::Scalar | State::After => Ok(()),
            State::Before => Err(PeerInputError::in_body("is empty")),
            State::Tokens | State::Text | State::Escape => {
                Err(self.fault("is not valid JSON: it ends in the middle"))
            }
        }
    }

    fn step(&mut self, byte: u8) -> Result<State, PeerInputError> {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        Ok(match (self.state, byte) {
            (State::Before | State::Scalar | State::After, _) if is_space => match self.state {
                State::Before => State::Before,
                _ => State::After,
            },
            (State::Before | State::Tokens, b'[' | b'{') => {
                self.depth += 1;
                if self.depth > self.limits.max_depth {
                    return Err(too_deep(self.limits.max_depth));
                }
                State::Tokens
            }
            (State::Before | State::Tokens, b'"') => State::Text,
            (State::Before, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => State::Scalar,
            // Reported at once, since the sender may wait for an answer.
            (State::Before, _) => return Err(self.fault("is not valid JSON: expected value")),
            (State::Tokens, b']' | b'}') => {
                self.depth -= 1;
                self.outside()
            }
            (State::Tokens, _) => State::Tokens,
            (State::Text, b'"') => self.outside(),
            (State::Text, b'\\') => State::Escape,
            (State::Text | State::Escape, _) => State::Text,
            (State::Scalar, _) => State::Scalar,
            (State::After, _) => return Err(self.fault("has something behind its JSON value")),
        })
    }

    /// Creates a fault at the last byte, in the words of the parser.
    fn fault(&self, what: &str) -> PeerInputError {
        let (line, column) = (self.line, self.column);
        PeerInputError::in_body(format!("{what} at line {line} column {column}"))
    }

    /// Returns the state after a string or a bracket has ended.
    fn outside(&self) -> State {
        match self.depth {
            0 => State::After,
            _ => State::Tokens,
        }
    }
}

/// Creates the fault of a body that nests too deeply.
fn too_deep(max: usize) -> PeerInputError {
    PeerInputError::in_body(format!("is nested deeper than {max} levels"))
}
