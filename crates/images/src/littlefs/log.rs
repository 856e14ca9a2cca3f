//! The log in a metadata block of littlefs: tags with data, commit by commit (`SPEC.md` and `lfs_dir_fetchmatch` of `lfs.c`).

use crate::little_endian::u32_at;

/// No log has more entries: the number in a tag has ten bits, of which the largest stands for none.
const ENTRIES_MAX: usize = 0x3ff;
const TAG_BYTES: usize = 4;

/// What an entry stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Held {
    #[default]
    Nothing,
    Inline(Vec<u8>),
    /// A list of blocks, of which the last is named.
    Blocks {
        head: u32,
        size_bytes: u32,
    },
    Directory([u32; 2]),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameOf {
    #[default]
    Nothing,
    File,
    Directory,
    Superblock,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub is: NameOf,
    pub name: Vec<u8>,
    pub held: Held,
}

/// Where the list of all metadata pairs goes on; `is_same` if there is more of the same directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    pub blocks: [u32; 2],
    pub is_same: bool,
}

/// What the commits of a block say that are whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Counts how often the log was written anew.
    pub revision: u32,
    pub commit_count: u32,
    /// End of the last commit that is whole.
    pub end_bytes: usize,
    pub entries: Vec<Entry>,
    pub tail: Option<Tail>,
    /// What the block adds to the state of the whole file system, by exclusive or with that of others.
    pub state: [u8; 12],
    /// Something stands behind the last whole commit.
    pub is_torn: bool,
}

#[derive(Clone, Copy)]
struct Tag(u32);

impl Tag {
    fn is_valid(self) -> bool {
        self.0 & 0x8000_0000 == 0
    }

    /// Of eleven bits.
    fn kind(self) -> u32 {
        self.0 >> 20 & 0x7ff
    }

    /// Its last eight bits.
    fn chunk(self) -> u32 {
        self.0 >> 20 & 0xff
    }

    fn id(self) -> usize {
        (self.0 >> 10 & 0x3ff) as usize
    }

    /// Of the data behind it; a tag that takes something away has none.
    fn data_bytes(self) -> usize {
        match self.0 & 0x3ff {
            0x3ff => 0,
            bytes => bytes as usize,
        }
    }

    fn is_checksum(self) -> bool {
        self.kind() & 0x780 == 0x500
    }
}

pub fn pair(data: &[u8]) -> Option<[u32; 2]> {
    Some([u32_at(data, 0)?, u32_at(data, 4)?])
}

/// CRC-32 without the last inversion, as `lfs_crc` counts on.
struct Crc(u32);

impl Crc {
    const START: Crc = Crc(0xFFFF_FFFF);

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 ^= u32::from(byte);
            for _ in 0..8 {
                self.0 = self.0 >> 1 ^ (0xEDB8_8320 & (self.0 & 1).wrapping_neg());
            }
        }
    }
}

/// Of littlefs 1, over all of a directory.
pub fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::START;
    crc.add(bytes);
    crc.0
}

impl Log {
    /// The log of a block. `None`: not one commit is whole.
    pub fn of(block: &[u8]) -> Option<Log> {
        let mut log = Log { revision: u32_at(block, 0)?, ..Log::default() };
        // What the commit that is being read says, until its check sum holds.
        let mut next = log.clone();
        let (mut at, mut before, mut crc) = (TAG_BYTES, 0xFFFF_FFFF_u32, Crc::START);
        crc.add(&block[..TAG_BYTES]);
        while let Some(raw) = block.get(at..at + TAG_BYTES) {
            let tag = Tag(u32::from_be_bytes([raw[0], raw[1], raw[2], raw[3]]) ^ before);
            let Some(data) = block.get(at + TAG_BYTES..at + TAG_BYTES + tag.data_bytes()) else { break };
            if !tag.is_valid() {
                break;
            }
            crc.add(raw);
            before = tag.0;
            at += TAG_BYTES + data.len();
            if !tag.is_checksum() {
                crc.add(data);
                if next.take(tag, data).is_none() {
                    break;
                }
                continue;
            }
            if u32_at(data, 0) != Some(crc.0) {
                break;
            }
            // The next valid bit may be the other one.
            before ^= (tag.chunk() & 1) << 31;
            crc = Crc::START;
            next.commit_count += 1;
            next.end_bytes = at;
            log = next.clone();
        }
        log.is_torn = block[log.end_bytes..].iter().any(|&byte| byte != 0xFF);
        (log.commit_count > 0).then_some(log)
    }

    /// Whether tags follow one another in a block up to that of a check sum, whether it is right or not. In data of a file they do not.
    pub fn has_begun(block: &[u8]) -> bool {
        let (mut at, mut before) = (TAG_BYTES, 0xFFFF_FFFF_u32);
        while let Some(raw) = block.get(at..at + TAG_BYTES) {
            let tag = Tag(u32::from_be_bytes([raw[0], raw[1], raw[2], raw[3]]) ^ before);
            if !tag.is_valid() || tag.is_checksum() {
                return tag.is_valid();
            }
            before = tag.0;
            at += TAG_BYTES + tag.data_bytes();
        }
        false
    }

    /// `None`: it makes no sense.
    fn take(&mut self, tag: Tag, data: &[u8]) -> Option<()> {
        let id = tag.id();
        match tag.kind() >> 8 {
            0 => {
                let entry = self.entry(id)?;
                entry.is = match tag.chunk() {
                    0x01 => NameOf::File,
                    0x02 => NameOf::Directory,
                    0xff => NameOf::Superblock,
                    _ => NameOf::Nothing,
                };
                entry.name = data.to_vec();
            }
            2 => {
                let held = match tag.chunk() {
                    0x00 => Held::Directory(pair(data)?),
                    0x01 => Held::Inline(data.to_vec()),
                    0x02 => Held::Blocks { head: u32_at(data, 0)?, size_bytes: u32_at(data, 4)? },
                    _ => Held::Nothing,
                };
                self.entry(id)?.held = held;
            }
            4 if tag.chunk() == 0x01 => {
                if id > self.entries.len() || self.entries.len() == ENTRIES_MAX {
                    return None;
                }
                self.entries.insert(id, Entry::default());
            }
            // Of one that is not there nothing is left.
            4 if tag.chunk() == 0xff && id < self.entries.len() => drop(self.entries.remove(id)),
            6 => self.tail = Some(Tail { blocks: pair(data)?, is_same: tag.chunk() & 1 == 1 }),
            // The last one counts: who writes it takes in what the block had added before (`lfs_dir_getgstate`).
            7 => self.state = *data.first_chunk()?,
            _ => {}
        }
        Some(())
    }

    /// A log that was written anew has no tags that create entries.
    fn entry(&mut self, id: usize) -> Option<&mut Entry> {
        if id >= ENTRIES_MAX {
            return None;
        }
        if id >= self.entries.len() {
            self.entries.resize(id + 1, Entry::default());
        }
        self.entries.get_mut(id)
    }
}

/// Sizes and limits of a file system, as its superblock has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Of the format, as in 0x0002_0001.
    pub version: u32,
    pub block_bytes: u32,
    pub blocks: u32,
    pub name_bytes_max: u32,
    pub file_bytes_max: u32,
    pub attribute_bytes_max: u32,
    /// The blocks of the root directory; `None`: it stands beside the superblock, as since littlefs 2.
    pub root_blocks: Option<[u32; 2]>,
}

pub const MAGIC: &[u8] = b"littlefs";
/// Of the data of a superblock of littlefs 1: the root, size and number of blocks, version.
const VERSION1_BYTES: usize = 20;

impl Superblock {
    pub fn of(log: &Log) -> Option<Superblock> {
        let entry = log.entries.first().filter(|entry| entry.is == NameOf::Superblock && entry.name == MAGIC)?;
        let Held::Inline(data) = &entry.held else { return None };
        let at = |number: usize| u32_at(data, number * 4);
        if data.len() == VERSION1_BYTES {
            return Some(Superblock {
                version: at(4)?,
                block_bytes: at(2)?,
                blocks: at(3)?,
                name_bytes_max: u8::MAX.into(),
                file_bytes_max: i32::MAX as u32,
                attribute_bytes_max: 0,
                root_blocks: Some(pair(data)?),
            });
        }
        Some(Superblock {
            version: at(0)?,
            block_bytes: at(1)?,
            blocks: at(2)?,
            name_bytes_max: at(3)?,
            file_bytes_max: at(4)?,
            attribute_bytes_max: at(5)?,
            root_blocks: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_littlefs() {
        let mut crc = Crc::START;
        crc.add(b"123456789");
        assert_eq!(!crc.0, 0xCBF4_3926);
    }

    #[test]
    fn nothing_is_no_log() {
        for block in [&[][..], &[0xFF; 3], &[0xFF; 4096], &[0; 4096], &[1, 0, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(Log::of(block), None);
        }
    }
}
