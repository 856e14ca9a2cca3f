//! The bytes of an image: read, or of a large file mapped, so that it takes as much memory as is looked at and changed.

use ffslab_sim::arena::Arena;
use ffslab_text::input::{self, Input, InputKind};
use memmap2::{MmapMut, MmapOptions};
use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// In such pieces a file with holes is read.
const PIECE_BYTES: usize = 64 << 10;
/// What files count their blocks in, whatever these are.
const STAT_BLOCK_BYTES: u64 = 512;

/// All bytes of an image. What is written to them does not reach the file.
pub enum Held {
    Read(Vec<u8>),
    /// Of a file with holes: these take no memory.
    WithHoles(Arena),
    Mapped(MmapMut),
}

impl Held {
    /// Errors: those of [`input::open`], and of the system.
    pub fn of_file(path: &Path) -> io::Result<Held> {
        let input = input::open(path, InputKind::Image)?;
        match input.length_bytes() {
            Some(bytes) if bytes > InputKind::Image.held_bytes_max() => Held::of_large(input, bytes),
            _ => Ok(Held::Read(input.read_all()?)),
        }
    }

    fn of_large(input: Input, bytes: u64) -> io::Result<Held> {
        let file = input.into_file();
        let length = usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        if file.metadata()?.blocks() * STAT_BLOCK_BYTES < bytes {
            return Held::with_holes(file, length);
        }
        // SAFETY: the map is private, so that nobody else sees what is written to it. If somebody shortens the file meanwhile the process ends
        // with SIGBUS; nothing is read that is no memory of it. If somebody writes to the file, bytes change between two looks: whoever
        // reads images trusts no byte of them.
        let map = unsafe { MmapOptions::new().len(length).no_reserve_swap().map_copy(&file) }?;
        Ok(Held::Mapped(map))
    }

    fn with_holes(mut file: File, length: usize) -> io::Result<Held> {
        let mut arena = Arena::new(length);
        let mut piece = vec![0; PIECE_BYTES];
        let mut at = 0;
        while at < length {
            let most = PIECE_BYTES.min(length - at);
            let bytes = file.read(&mut piece[..most])?;
            if bytes == 0 {
                break;
            }
            // Memory that is only read has no cost.
            if piece[..bytes].iter().any(|&byte| byte != 0) {
                arena[at..at + bytes].copy_from_slice(&piece[..bytes]);
            }
            at += bytes;
        }
        Ok(Held::WithHoles(arena))
    }
}

impl From<Vec<u8>> for Held {
    fn from(bytes: Vec<u8>) -> Held {
        Held::Read(bytes)
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Held::Read(bytes) => bytes,
            Held::WithHoles(arena) => arena,
            Held::Mapped(map) => map,
        }
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Held::Read(bytes) => bytes,
            Held::WithHoles(arena) => arena,
            Held::Mapped(map) => map,
        }
    }
}
