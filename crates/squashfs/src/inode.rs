//! Inodes of squashfs, and the names in its directories.

use crate::little_endian::{u16_at, u32_at};
use crate::Wrong;
use ffslab_fs::FileKind;

/// Where an inode stands: the metadata block in the table of inodes, and the place in it once expanded.
pub type Place = (u64, u16);

/// What all kinds of inodes begin with.
pub const BASE_BYTES: usize = 16;
const NO_FRAGMENT: u32 = u32::MAX;
const NO_XATTRS: u32 = u32::MAX;
/// Kinds above are those of large inodes, which have attributes.
const LARGE_FROM: u16 = 7;
/// The size of a directory counts "." and "..", which stand nowhere.
pub const DOTS_BYTES: u32 = 3;
const SYMLINK_BYTES_MAX: u32 = 65_536;
/// Names behind one head of a directory.
const RUN_MAX: u32 = 256;
pub const NAME_BYTES_MAX: usize = 256;

/// Reads a table from a place on, once expanded.
pub trait Metadata {
    /// Errors: the table cannot be read on.
    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, Wrong>;

    /// Where in the image it is, for messages.
    fn at_bytes(&self) -> u64;
}

/// What an inode says.
#[derive(Clone, Debug)]
pub struct Inode {
    pub kind: FileKind,
    pub permissions: u32,
    pub uid_number: u16,
    pub gid_number: u16,
    pub modified_s: u32,
    /// Its number in the image, from 1 on.
    pub number: u32,
    pub links: u32,
    /// Number of its extended attributes; `None`: it has none.
    pub xattrs_number: Option<u32>,
    pub is: Is,
}

#[derive(Clone, Debug)]
pub enum Is {
    Directory(Directory),
    File(File),
    Symlink(Vec<u8>),
    Device(u32),
    Other,
}

/// Where the names of a directory stand.
#[derive(Clone, Copy, Debug)]
pub struct Directory {
    /// The metadata block in the table of directories, and the place in it once expanded.
    pub block: u32,
    pub offset: u16,
    /// With "." and "..", which stand nowhere.
    pub bytes: u32,
    /// Entries of an index of its names, which stands behind the inode.
    pub index_count: u16,
}

/// Where the content of a file stands.
#[derive(Clone, Debug)]
pub struct File {
    pub bytes: u64,
    pub at_bytes: u64,
    /// Number of the fragment with its end, and the place in it.
    pub fragment_offset: Option<(u32, u32)>,
    /// What nothing stands for, where a large inode says it.
    pub holes_bytes: u64,
}

impl File {
    /// How many blocks are listed behind the inode.
    pub fn blocks(&self, block_bytes: u32) -> u64 {
        match self.fragment_offset {
            Some(_) => self.bytes / u64::from(block_bytes),
            None => self.bytes.div_ceil(u64::from(block_bytes)),
        }
    }
}

/// The inode there. The reader stands behind it then: the list of a file's blocks follows, or the index of a directory's names.
pub fn read(from: &mut impl Metadata) -> Result<Inode, Wrong> {
    let base = from.take(BASE_BYTES)?;
    let half = |at: usize| u16_at(&base, at).unwrap_or_default();
    let word = |at: usize| u32_at(&base, at).unwrap_or_default();
    let (kind, links, xattrs, is) = of_type(half(0), from)?;
    Ok(Inode {
        kind,
        permissions: u32::from(half(2)) & 0o7777,
        uid_number: half(4),
        gid_number: half(6),
        modified_s: word(8),
        number: word(12),
        links,
        xattrs_number: (xattrs != NO_XATTRS).then_some(xattrs),
        is,
    })
}

/// What stands behind the part that all inodes have: the kind, links, the number of attributes.
fn of_type(number: u16, from: &mut impl Metadata) -> Result<(FileKind, u32, u32, Is), Wrong> {
    let mut words = |bytes: usize| -> Result<Box<dyn Fn(usize) -> u32>, Wrong> {
        let held = from.take(bytes)?;
        Ok(Box::new(move |at: usize| u32_at(&held, at).unwrap_or_default()))
    };
    let long = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let fragment = |number: u32, offset: u32| (number != NO_FRAGMENT).then_some((number, offset));
    let is_large = number > LARGE_FROM;
    Ok(match number {
        1 => {
            let of = words(16)?;
            let bytes = of(8) & 0xFFFF;
            let is = Directory { block: of(0), offset: (of(8) >> 16) as u16, bytes, index_count: 0 };
            (FileKind::Directory, of(4), NO_XATTRS, Is::Directory(is))
        }
        8 => {
            let of = words(24)?;
            let (index_count, offset) = (of(16) as u16, (of(16) >> 16) as u16);
            let is = Directory { block: of(8), offset, bytes: of(4), index_count };
            (FileKind::Directory, of(0), of(20), Is::Directory(is))
        }
        2 => {
            let of = words(16)?;
            let file = File {
                at_bytes: of(0).into(),
                bytes: of(12).into(),
                fragment_offset: fragment(of(4), of(8)),
                holes_bytes: 0,
            };
            (FileKind::File, 1, NO_XATTRS, Is::File(file))
        }
        9 => {
            let of = words(40)?;
            let file = File {
                at_bytes: long(of(0), of(4)),
                bytes: long(of(8), of(12)),
                holes_bytes: long(of(16), of(20)),
                fragment_offset: fragment(of(28), of(32)),
            };
            (FileKind::File, of(24), of(36), Is::File(file))
        }
        3 | 10 => {
            let of = words(8)?;
            let (links, bytes) = (of(0), of(4));
            if bytes > SYMLINK_BYTES_MAX {
                return Err(Wrong::new(from.at_bytes(), format!("a symbolic link of {bytes} B")));
            }
            let target = from.take(bytes as usize)?;
            let xattrs = if is_large { next_word(from)? } else { NO_XATTRS };
            (FileKind::Symlink, links, xattrs, Is::Symlink(target))
        }
        4 | 5 | 11 | 12 => {
            let of = words(if is_large { 12 } else { 8 })?;
            let kind = if matches!(number, 4 | 11) { FileKind::BlockDevice } else { FileKind::CharDevice };
            (kind, of(0), if is_large { of(8) } else { NO_XATTRS }, Is::Device(of(4)))
        }
        6 | 7 | 13 | 14 => {
            let of = words(if is_large { 8 } else { 4 })?;
            let kind = if matches!(number, 6 | 13) { FileKind::Fifo } else { FileKind::Socket };
            (kind, of(0), if is_large { of(4) } else { NO_XATTRS }, Is::Other)
        }
        other => return Err(Wrong::new(from.at_bytes(), format!("an inode of the kind {other}, which there is not"))),
    })
}

/// The head of a run of names: how many follow, and what the places and numbers of their inodes count from.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub names_count: u32,
    pub inodes_block: u32,
    pub first_number: u32,
}

pub const RUN_HEAD_BYTES: u32 = 12;
/// Before the bytes of a name.
pub const NAME_HEAD_BYTES: u32 = 8;

/// A name of a directory.
#[derive(Clone, Debug)]
pub struct Name {
    pub name: Vec<u8>,
    pub place: Place,
    pub number: u32,
    /// As an inode that is not large has it.
    pub kind_number: u16,
}

pub fn next_run(from: &mut impl Metadata) -> Result<Run, Wrong> {
    let head = from.take(RUN_HEAD_BYTES as usize)?;
    let word = |at: usize| u32_at(&head, at).unwrap_or_default();
    let run = Run { names_count: word(0).saturating_add(1), inodes_block: word(4), first_number: word(8) };
    if run.names_count > RUN_MAX {
        return Err(Wrong::new(from.at_bytes(), "a directory whose names cannot be so many"));
    }
    Ok(run)
}

pub fn next_name(from: &mut impl Metadata, run: Run) -> Result<Name, Wrong> {
    let entry = from.take(NAME_HEAD_BYTES as usize)?;
    let half = |at: usize| u16_at(&entry, at).unwrap_or_default();
    let name_bytes = usize::from(half(6)) + 1;
    if name_bytes > NAME_BYTES_MAX {
        return Err(Wrong::new(from.at_bytes(), format!("a name of {name_bytes} B")));
    }
    Ok(Name {
        name: from.take(name_bytes)?,
        place: (run.inodes_block.into(), half(0)),
        number: run.first_number.wrapping_add_signed(i32::from(half(2) as i16)),
        kind_number: half(4),
    })
}

/// An entry of the index of a directory: how far into its names, the metadata block there, and the first name in it.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    pub names_bytes: u32,
    pub block: u32,
    pub name: Vec<u8>,
}

pub fn next_index_entry(from: &mut impl Metadata) -> Result<IndexEntry, Wrong> {
    let head = from.take(12)?;
    let word = |at: usize| u32_at(&head, at).unwrap_or_default();
    let name_bytes = word(8).saturating_add(1) as usize;
    if name_bytes > NAME_BYTES_MAX {
        return Err(Wrong::new(from.at_bytes(), format!("a name of {name_bytes} B")));
    }
    Ok(IndexEntry { names_bytes: word(0), block: word(4), name: from.take(name_bytes)? })
}

/// Calls `name` for each name of a directory. `from` stands at its first one.
///
/// Errors: where the directory cannot be read on.
pub fn list(
    from: &mut impl Metadata,
    directory: Directory,
    mut name: impl FnMut(&[u8], Place) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let mut left = directory.bytes.saturating_sub(DOTS_BYTES);
    while left > 0 {
        let run = next_run(from)?;
        left = left.saturating_sub(RUN_HEAD_BYTES);
        for _ in 0..run.names_count {
            let found = next_name(from, run)?;
            name(&found.name, found.place)?;
            left = left.saturating_sub(NAME_HEAD_BYTES + found.name.len() as u32);
        }
    }
    Ok(())
}

/// A number of a list behind an inode.
pub fn next_word(from: &mut impl Metadata) -> Result<u32, Wrong> {
    let word = from.take(4)?;
    Ok(u32_at(&word, 0).unwrap_or_default())
}
