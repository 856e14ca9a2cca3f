//! What goes over the socket: requests and answers, each a head of fixed size and bytes behind it. Numbers are little-endian.
//! docs/chip-serve.md describes it for who writes a client.

/// Said to a client that has come: the name and the version of what follows.
pub const GREETING: &[u8; 8] = b"ffslchip";
pub const VERSION: u16 = 1;
pub(super) const REQUEST_BYTES: usize = 20;
/// Most bytes of one request, and of one answer.
pub(super) const SENT_MAX: usize = 1 << 20;
pub(super) const TAKEN_MAX: usize = 1 << 24;

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Spi,
    Nand,
    Idle,
    Label,
    Cut,
    PowerOn,
    Counts,
    Why,
    Keep,
    PutBack,
}

impl Kind {
    fn of(number: u8) -> Option<Kind> {
        Some(match number {
            1 => Kind::Spi,
            2 => Kind::Nand,
            3 => Kind::Idle,
            16 => Kind::Label,
            17 => Kind::Cut,
            18 => Kind::PowerOn,
            19 => Kind::Counts,
            20 => Kind::Why,
            21 => Kind::Keep,
            22 => Kind::PutBack,
            _ => return None,
        })
    }
}

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// `None`: there is no such kind.
    pub kind: Option<Kind>,
    pub option: u8,
    pub tag: u16,
    pub sent_bytes: usize,
    pub taken_bytes: usize,
    /// On the client's clock.
    pub at_ns: u64,
}

impl Request {
    /// `None`: more bytes must come.
    pub fn read(bytes: &[u8]) -> Option<Request> {
        let head: &[u8; REQUEST_BYTES] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Some(Request {
            kind: Kind::of(head[0]),
            option: head[1],
            tag: u16::from_le_bytes([head[2], head[3]]),
            sent_bytes: word(4) as usize,
            taken_bytes: word(8) as usize,
            at_ns: u64::from(word(12)) | u64::from(word(16)) << 32,
        })
    }
}

/// What the first byte of an answer says.
pub(super) const DONE: u8 = 0;
pub(super) const WRONG: u8 = 1;
/// Bits of its second byte.
pub(super) const READY: u8 = 1;
pub(super) const REFUSED: u8 = 2;
pub(super) const POWERED: u8 = 4;

/// Puts the head of an answer with so many bytes behind the others.
pub(super) fn answer(into: &mut Vec<u8>, status: u8, flags: u8, tag: u16, bytes: usize, ready_at_ns: u64) {
    into.extend_from_slice(&[status, flags]);
    into.extend_from_slice(&tag.to_le_bytes());
    into.extend_from_slice(&(bytes as u32).to_le_bytes());
    into.extend_from_slice(&ready_at_ns.to_le_bytes());
}
