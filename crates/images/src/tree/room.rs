//! How much memory a walk through an image may take, and which names of a directory it follows.

use super::error::FileError;
use ffslab_text::quoting::quoted;
use std::collections::BTreeSet;

/// Content up to this size is always kept, even of a smaller image. The limit is needed because holes and damaged sizes
/// take no space in the image.
const CONTENT_BYTES_MAX: u64 = 384 << 20;
/// Of a larger image, content up to so many times the image's size is kept, as compression seldom saves more.
const CONTENT_PER_IMAGE: u64 = 4;
/// Limit for all paths together. In a chain of directories each path contains all names above it.
const PATHS_BYTES_MAX: usize = 128 << 20;
/// At most so many of the names that are left out of a directory are reported. More are counted.
const NAMED_MAX: usize = 8;

/// What to do with the content of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Keep,
    /// The content is read, so that errors are found, but not kept.
    Check,
}

/// Memory that a tree may still take.
pub struct Room {
    content_bytes: u64,
    content_max_bytes: u64,
    paths_bytes: usize,
}

impl Room {
    /// The limits for the tree of an image, or of a chip, of `image_bytes` bytes.
    pub fn of(image_bytes: u64) -> Room {
        let content_bytes = image_bytes.saturating_mul(CONTENT_PER_IMAGE).max(CONTENT_BYTES_MAX);
        Room { content_bytes, content_max_bytes: content_bytes, paths_bytes: PATHS_BYTES_MAX }
    }

    /// Reserves memory for the content of a file.
    ///
    /// Errors: not enough is left.
    pub fn take_content(&mut self, size_bytes: u64, content: Content) -> Result<(), FileError> {
        if content == Content::Check {
            return Ok(());
        }
        let most_mib = self.content_max_bytes >> 20;
        self.content_bytes =
            self.content_bytes.checked_sub(size_bytes).ok_or(FileError::NoRoom { size_bytes, most_mib })?;
        Ok(())
    }

    /// The path of a name below `dir`. `None`: all paths together would take too much memory.
    fn path(&mut self, dir: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
        self.paths_bytes = self.paths_bytes.checked_sub(path.capacity())?;
        path.extend_from_slice(dir);
        if !dir.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Some(path)
    }
}

/// The names of one directory: which of them are followed, and messages about the others.
pub struct Names<'r> {
    room: &'r mut Room,
    dir: &'r [u8],
    seen: BTreeSet<Vec<u8>>,
    foreign: Vec<String>,
    foreign_count: usize,
    too_long_count: usize,
}

impl<'r> Names<'r> {
    pub fn new(room: &'r mut Room, dir: &'r [u8]) -> Names<'r> {
        Names { room, dir, seen: BTreeSet::new(), foreign: Vec::new(), foreign_count: 0, too_long_count: 0 }
    }

    /// The path of a name, or `None` if the name is not followed. A name that no system call could have made, such as
    /// "..", might lead out of the folder to which files are extracted. Of two equal names only the first is followed,
    /// because that is the one that a look-up finds.
    pub fn follow(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        let is_foreign = name.is_empty() || name.contains(&b'/') || name.contains(&0) || name == b"." || name == b"..";
        if is_foreign || !self.seen.insert(name.to_vec()) {
            self.foreign_count += 1;
            if self.foreign.len() < NAMED_MAX {
                let why = if is_foreign { "cannot be a name" } else { "is there twice" };
                self.foreign.push(format!("{} {why}", quoted(name)));
            }
            return None;
        }
        let path = self.room.path(self.dir, name);
        self.too_long_count += usize::from(path.is_none());
        path
    }

    /// Messages about the names that were left out, in a line each.
    pub fn left_out(self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.foreign.iter().map(|said| format!("{said}: what it stands for is left out")).collect();
        if self.foreign_count > lines.len() {
            lines.push(format!("{} more names like that are left out", self.foreign_count - lines.len()));
        }
        if self.too_long_count > 0 {
            let most_mib = PATHS_BYTES_MAX >> 20;
            lines.push(format!(
                "{} names are left out: all paths of the image together may have {most_mib} MiB here",
                self.too_long_count
            ));
        }
        lines
    }
}
