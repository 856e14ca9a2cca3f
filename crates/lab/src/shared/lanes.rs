//! Lanes: pipes through which the processes of variants answer. Each runs one variant at a time.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::time::{Duration, Instant};

/// What comes through a lane.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// So many calls were made.
    Calls(u64),
    /// The setup is done, others may begin from it.
    SetUp,
    /// What the variant left, see `wire.rs`.
    Piece(Vec<u8>),
    /// What could not be done.
    Failed(String),
    /// The variant was not run, or its process has ended otherwise.
    Nothing,
}

const CALLS: u8 = 0;
const SET_UP: u8 = 1;
const PIECE: u8 = 2;
const FAILED: u8 = 3;
const NOTHING: u8 = 4;

/// Kind, and bytes of what follows.
const HEAD_BYTES: usize = 9;
/// Least time between two messages that only say how far a variant has come.
const CALLS_EVERY: Duration = Duration::from_millis(50);

/// Sends a message.
///
/// Errors: nobody listens any more.
fn send(mut lane: &PipeWriter, kind: u8, content: &[u8]) -> io::Result<()> {
    let mut head = [kind; HEAD_BYTES];
    head[1..].copy_from_slice(&(content.len() as u64).to_ne_bytes());
    lane.write_all(&head)?;
    lane.write_all(content)
}

impl Message {
    pub fn send(&self, lane: &PipeWriter) -> io::Result<()> {
        match self {
            Message::Calls(calls) => send(lane, CALLS, &calls.to_ne_bytes()),
            Message::SetUp => send(lane, SET_UP, &[]),
            Message::Piece(bytes) => send(lane, PIECE, bytes),
            Message::Failed(text) => send(lane, FAILED, text.as_bytes()),
            Message::Nothing => send(lane, NOTHING, &[]),
        }
    }

    /// Whether the variant has ended with it.
    pub fn is_last(&self) -> bool {
        matches!(self, Message::Piece(_) | Message::Failed(_) | Message::Nothing)
    }
}

/// Tells now and then how many calls were made.
pub(super) fn told_on(lane: &PipeWriter) -> impl FnMut(u64) -> bool + '_ {
    let mut last: Option<Instant> = None;
    move |calls| {
        if last.is_some_and(|last| last.elapsed() < CALLS_EVERY) {
            return true;
        }
        last = Some(Instant::now());
        Message::Calls(calls).send(lane).is_ok()
    }
}

/// The end of a lane at which answers come out.
pub(super) struct Answering {
    pub reader: PipeReader,
    arrived: Vec<u8>,
}

impl Answering {
    pub fn new(reader: PipeReader) -> Answering {
        Answering { reader, arrived: Vec::new() }
    }

    /// Reads what is there; called when something is.
    pub fn read(&mut self) -> io::Result<()> {
        let mut some = [0; 1 << 16];
        let bytes = self.reader.read(&mut some)?;
        self.arrived.extend_from_slice(&some[..bytes]);
        Ok(())
    }

    /// The next message that has come whole.
    pub fn next(&mut self) -> Option<Message> {
        let (head, rest) = self.arrived.split_at_checked(HEAD_BYTES)?;
        let bytes = u64::from_ne_bytes(head[1..].try_into().ok()?) as usize;
        let content = rest.get(..bytes)?;
        let message = match head[0] {
            CALLS => Message::Calls(u64::from_ne_bytes(content.try_into().ok()?)),
            SET_UP => Message::SetUp,
            PIECE => Message::Piece(content.to_vec()),
            FAILED => Message::Failed(String::from_utf8_lossy(content).into_owned()),
            _ => Message::Nothing,
        };
        self.arrived.drain(..HEAD_BYTES + bytes);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_out_when_it_is_whole() {
        let (reader, writer) = io::pipe().unwrap();
        let mut answering = Answering::new(reader);
        let sent = [Message::Calls(7), Message::SetUp, Message::Piece(vec![1; 5_000]), Message::Failed("no".into())];
        for message in &sent {
            message.send(&writer).unwrap();
        }
        let mut came = Vec::new();
        while came.len() < sent.len() {
            answering.read().unwrap();
            came.extend(std::iter::from_fn(|| answering.next()));
        }
        assert_eq!(came, sent);
        send(&writer, PIECE, &[1; 10]).unwrap();
        answering.read().unwrap();
        answering.arrived.truncate(12);
        assert_eq!(answering.next(), None);
    }
}
