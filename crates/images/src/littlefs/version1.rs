//! Directories of littlefs 1, which are no logs: each block holds all of its entries, and one check sum (`SPEC.md` of littlefs 1.7).

use super::log::{checksum, pair, Entry, Held, Log, NameOf, Tail};
use crate::little_endian::u32_at;

const HEADER_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 4;
const ENTRY_HEADER_BYTES: usize = 4;
/// In the size of a directory: another pair holds more of it.
const GOES_ON: u32 = 0x8000_0000;
/// In the type of an entry: it is being moved elsewhere.
const IS_MOVED: u8 = 0x80;
const TYPE_FILE: u8 = 0x11;
const TYPE_DIRECTORY: u8 = 0x22;
const TYPE_SUPERBLOCK: u8 = 0x2E;

/// What a block of a directory says, as a log of today says it. `None`: it is none, or its check sum is wrong.
pub fn log(block: &[u8]) -> Option<Log> {
    let size = u32_at(block, 4)?;
    let end = (size & !GOES_ON) as usize;
    let held = block.get(..end.checked_sub(CHECKSUM_BYTES)?).filter(|held| held.len() >= HEADER_BYTES)?;
    if u32_at(block, held.len()) != Some(checksum(held)) {
        return None;
    }
    let tail = Tail { blocks: pair(&held[8..])?, is_same: size & GOES_ON != 0 };
    let mut log =
        Log { revision: u32_at(held, 0)?, commit_count: 1, end_bytes: end, tail: Some(tail), ..Log::default() };
    let mut at = HEADER_BYTES;
    while let Some(&[kind, held_bytes, attribute_bytes, name_bytes]) =
        held.get(at..).and_then(|rest| rest.first_chunk())
    {
        let data_at = at + ENTRY_HEADER_BYTES;
        let name_at = data_at + usize::from(held_bytes) + usize::from(attribute_bytes);
        at = name_at + usize::from(name_bytes);
        let data = held.get(data_at..data_at + usize::from(held_bytes))?;
        let name = held.get(name_at..at)?.to_vec();
        log.entries.extend(entry(kind, data, name));
    }
    Some(log)
}

/// One that is being moved stands at its new place, too.
fn entry(kind: u8, data: &[u8], name: Vec<u8>) -> Option<Entry> {
    let (is, held) = match kind {
        _ if kind & IS_MOVED != 0 => return None,
        TYPE_FILE => (NameOf::File, Held::Blocks { head: u32_at(data, 0)?, size_bytes: u32_at(data, 4)? }),
        TYPE_DIRECTORY => (NameOf::Directory, Held::Directory(pair(data)?)),
        TYPE_SUPERBLOCK => (NameOf::Superblock, Held::Inline(data.to_vec())),
        _ => return None,
    };
    Some(Entry { is, name, held })
}
