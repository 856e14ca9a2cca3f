//! The object header: the first 512 bytes of a chunk that stands for a file, directory, link or device.
//!
//! Follows `struct yaffs_obj_hdr` of `yaffs_guts.h`. Fields that a kind of object does not use stay 0xFF. Behind the header
//! the chunk holds extended attributes, which are carried along unread.

use crate::options::Generation;
use crate::tags::{Extra, Kind};

pub const HEADER_BYTES: usize = 512;
/// Longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// Longest target of a symbolic link, in bytes.
pub const ALIAS_BYTES_MAX: usize = 159;

const TYPE: usize = 0;
const PARENT: usize = 4;
const NAME: usize = 10;
const MODE: usize = 268;
const UID: usize = 272;
const GID: usize = 276;
const ATIME: usize = 280;
const MTIME: usize = 284;
const CTIME: usize = 288;
const SIZE_LOW: usize = 292;
const EQUIVALENT: usize = 296;
const ALIAS: usize = 300;
const DEVICE: usize = 460;
const WIDE_CTIME: usize = 464;
const WIDE_ATIME: usize = 472;
const WIDE_MTIME: usize = 480;
const INBAND_SHADOWED: usize = 488;
const INBAND_IS_SHRINK: usize = 492;
const SIZE_HIGH: usize = 496;
const SHADOWS: usize = 504;
const IS_SHRINK: usize = 508;

/// Attributes that every object has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Kind and permission bits.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub accessed_s: u32,
    pub modified_s: u32,
    pub changed_s: u32,
    pub device: u32,
}

/// The content of an object header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    pub parent: u32,
    pub name: Vec<u8>,
    pub attributes: Attributes,
    pub file_bytes: u64,
    pub equivalent: u32,
    pub alias: Vec<u8>,
    pub shadows: u32,
    pub is_shrink: bool,
}

fn get(chunk: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([chunk[at], chunk[at + 1], chunk[at + 2], chunk[at + 3]])
}

fn put(chunk: &mut [u8], at: usize, value: u32) {
    chunk[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Bytes up to the first NUL.
fn text(field: &[u8]) -> Vec<u8> {
    field.iter().copied().take_while(|&byte| byte != 0).collect()
}

/// Writes a text that is shorter than its field; the rest becomes NUL.
fn put_text(field: &mut [u8], value: &[u8]) {
    let count = value.len().min(field.len() - 1);
    field[..count].copy_from_slice(&value[..count]);
    field[count..].fill(0);
}

impl Header {
    /// It stands for an object of its own, not for one more name of another.
    pub fn is_object(&self) -> bool {
        !matches!(self.kind, Kind::HardLink | Kind::Unknown)
    }

    /// The part of a header that the tags of its chunk repeat.
    pub fn extra(&self) -> Extra {
        Extra {
            parent: self.parent,
            is_shrink: self.is_shrink,
            shadows: self.shadows > 0,
            kind: self.kind,
            file_bytes: self.file_bytes,
            equivalent: self.equivalent,
        }
    }

    /// Reads the header at the start of a chunk of at least 512 bytes. With in-band tags two fields stand
    /// elsewhere.
    pub fn load(chunk: &[u8], inband: bool) -> Header {
        let high = get(chunk, SIZE_HIGH);
        let low = u64::from(get(chunk, SIZE_LOW));
        let (shadows_at, shrink_at) = if inband { (INBAND_SHADOWED, INBAND_IS_SHRINK) } else { (SHADOWS, IS_SHRINK) };
        let shadows = get(chunk, shadows_at);
        Header {
            kind: Kind::from_number(get(chunk, TYPE)),
            parent: get(chunk, PARENT),
            name: name(chunk),
            attributes: Attributes {
                mode: get(chunk, MODE),
                uid: get(chunk, UID),
                gid: get(chunk, GID),
                accessed_s: time(chunk, ATIME, WIDE_ATIME),
                modified_s: time(chunk, MTIME, WIDE_MTIME),
                changed_s: time(chunk, CTIME, WIDE_CTIME),
                device: get(chunk, DEVICE),
            },
            file_bytes: if high == u32::MAX { low } else { u64::from(high) << 32 | low },
            equivalent: get(chunk, EQUIVALENT),
            alias: text(&chunk[ALIAS..=ALIAS + ALIAS_BYTES_MAX]),
            shadows: if shadows as i32 > 0 { shadows } else { 0 },
            is_shrink: get(chunk, shrink_at) != 0,
        }
    }

    /// Writes the header at the start of a chunk; what follows it stays.
    pub fn store(&self, chunk: &mut [u8], generation: Generation) {
        chunk[..HEADER_BYTES].fill(0xFF);
        put(chunk, TYPE, self.kind as u32);
        put(chunk, PARENT, self.parent);
        put_text(&mut chunk[NAME..=NAME + NAME_BYTES_MAX], &self.name);
        let attributes = &self.attributes;
        put(chunk, MODE, attributes.mode);
        put(chunk, UID, attributes.uid);
        put(chunk, GID, attributes.gid);
        let times = [
            (ATIME, WIDE_ATIME, attributes.accessed_s),
            (MTIME, WIDE_MTIME, attributes.modified_s),
            (CTIME, WIDE_CTIME, attributes.changed_s),
        ];
        for (at, wide_at, seconds) in times {
            put(chunk, at, seconds);
            // Today's sources store a 64-bit copy of the time stamps where earlier ones had fields for Windows CE.
            if generation == Generation::Today {
                put(chunk, wide_at, seconds);
                put(chunk, wide_at + 4, 0);
            }
        }
        put(chunk, DEVICE, attributes.device);
        put(chunk, SHADOWS, self.shadows);
        put(chunk, INBAND_SHADOWED, self.shadows);
        put(chunk, IS_SHRINK, u32::from(self.is_shrink));
        match self.kind {
            Kind::File => store_file_bytes(chunk, self.file_bytes),
            Kind::HardLink => put(chunk, EQUIVALENT, self.equivalent),
            // `strncpy`: NUL up to the end of the field.
            Kind::Symlink => put_text(&mut chunk[ALIAS..=ALIAS + ALIAS_BYTES_MAX], &self.alias),
            Kind::Unknown | Kind::Directory | Kind::Special => {}
        }
    }
}

/// Whether a header chunk holds extended attributes (`nval_hasvalues` of `yaffs_nameval.c`): the first stands behind the
/// header, beginning with its length.
pub fn has_attributes(chunk: &[u8]) -> bool {
    let room_bytes = chunk.len().saturating_sub(HEADER_BYTES) as i32;
    room_bytes >= 4 && (1..room_bytes).contains(&(get(chunk, HEADER_BYTES) as i32))
}

/// The name in a header.
pub fn name(chunk: &[u8]) -> Vec<u8> {
    text(&chunk[NAME..NAME + NAME_BYTES_MAX])
}

/// Prepares a header that garbage collection moves: shrinking and shadowing are removed, because both have taken
/// effect.
pub fn strip_for_copy(chunk: &mut [u8], file_bytes: Option<u64>) {
    for at in [IS_SHRINK, SHADOWS, INBAND_SHADOWED] {
        put(chunk, at, 0);
    }
    if let Some(file_bytes) = file_bytes {
        store_file_bytes(chunk, file_bytes);
    }
}

fn store_file_bytes(chunk: &mut [u8], file_bytes: u64) {
    put(chunk, SIZE_LOW, file_bytes as u32);
    put(chunk, SIZE_HIGH, (file_bytes >> 32) as u32);
}

/// Seconds of a time stamp: from the 64-bit field if it is written (`yaffs_oh_time_fetch`), cut to 32 bits.
fn time(chunk: &[u8], at: usize, wide_at: usize) -> u32 {
    if get(chunk, wide_at + 4) == u32::MAX {
        get(chunk, at)
    } else {
        get(chunk, wide_at)
    }
}
