//! Commands to a die, and what is known when they have been issued.

use std::ops::Range;

use super::Address;

/// One command. With several pages or blocks it is a multi-plane command: one of each plane, all of one die.
pub enum Command<'c, 'b> {
    /// Cells to page register, and out.
    Read(&'c mut [PageOut<'b>]),
    /// Into the page register, and to the cells.
    Program(&'c [PageIn<'b>]),
    Erase(&'c [Address]),
    /// Page to page inside a plane, without the bus. No ECC sees the data: flipped bits are copied, and wrong in the copy.
    CopyBack(&'c [CopyBack]),
    /// The next pages of a cache read: while they are moved out of the cache register the array reads the ones after
    /// them, if `more` will come (read cache sequential, otherwise read cache end).
    CacheRead {
        pages: &'c mut [PageOut<'b>],
        more: bool,
    },
    /// The next pages of a cache program: while they are programmed the ones after them are moved in, if `more` will
    /// come.
    CacheProgram {
        pages: &'c [PageIn<'b>],
        more: bool,
    },
}

/// A page that is read: where it is, and where its bytes go.
pub struct PageOut<'b> {
    pub at: Address,
    /// First byte of the data area that is moved.
    pub column: u32,
    /// As much of the data area as is wanted.
    pub data: &'b mut [u8],
    pub oob: Option<&'b mut [u8]>,
    /// Bytes that move after the data: the OOB area, wanted or not, or ECC bytes.
    pub further_bytes: u32,
    /// Answer: the number of flipped bits in what moved, or [`DAMAGED`](crate::DAMAGED).
    pub flipped_bits: u32,
}

impl<'b> PageOut<'b> {
    /// The whole page; its OOB area moves whether it is wanted or not.
    pub fn whole(at: Address, data: &'b mut [u8], oob: Option<&'b mut [u8]>, oob_bytes: u32) -> PageOut<'b> {
        PageOut { at, column: 0, data, oob, further_bytes: oob_bytes, flipped_bits: 0 }
    }

    /// A part of the data area, and ECC bytes.
    pub fn part(at: Address, column: u32, data: &'b mut [u8], further_bytes: u32) -> PageOut<'b> {
        PageOut { at, column, data, oob: None, further_bytes, flipped_bits: 0 }
    }

    /// So many bytes of the page move, and nobody looks at them.
    pub fn unseen(at: Address, bytes: u32) -> PageOut<'b> {
        PageOut { at, column: 0, data: &mut [], oob: None, further_bytes: bytes, flipped_bits: 0 }
    }

    pub(super) fn moved_bytes(&self) -> u32 {
        self.data.len() as u32 + self.further_bytes
    }
}

/// A page that is programmed: the whole data area, and the OOB area (0xFF if none is given).
#[derive(Clone, Copy)]
pub struct PageIn<'b> {
    pub at: Address,
    pub data: &'b [u8],
    pub oob: Option<&'b [u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyBack {
    pub from: Address,
    pub to: Address,
}

/// What a controller looks at and sends anew while a page of a copy-back is in the register (random data output and input, 05h and
/// 85h). Of a multi-plane copy-back this is the first page.
pub struct Change<'c> {
    /// Bytes of the OOB area that move out and, if the copy-back goes on, in again.
    pub oob_bytes: &'c [Range<usize>],
    /// Is given the OOB area as it is in the register, and changes it there; bytes outside `oob_bytes` must stay. `false`: nothing is
    /// programmed.
    pub by: &'c mut dyn FnMut(&mut [u8]) -> bool,
}

/// What came of a copy-back that a controller looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    pub done: Done,
    /// The controller has seen the bytes that moved out.
    pub seen_ns: u64,
    /// `false`: it left it at the read.
    pub is_programmed: bool,
}

/// When a command that was issued does what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The die begins with it.
    pub begin_ns: u64,
    /// The last cell array is done.
    pub array_ns: u64,
    /// Everything is done: data are out, status is known.
    pub done_ns: u64,
    /// The die takes its next command, or the next step of the cache sequence.
    pub next_ns: u64,
    /// Programs or erases whose status will be "failed": bit n for the n-th page or block of the command.
    pub failed: Failures,
}

/// Bit n: the n-th page or block of a command failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures(pub u32);

impl Failures {
    pub fn any(self) -> bool {
        self.0 != 0
    }

    pub fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }
}
