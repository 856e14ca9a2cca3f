//! Images read as they stand, without mounting them: what the superblock says, what each block holds, damage.

mod flash;
mod read;
mod volumes;

pub(crate) use read::damage_of;
pub use read::scan;

use crate::key_values::facts::KeyFacts;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// An erase block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BlockFacts {
    pub block: u32,
    /// Bytes that are valid as the mounted file system accounts for them.
    #[serde(rename = "valid_B")]
    pub valid_bytes: Option<u32>,
    #[serde(rename = "invalid_B")]
    pub invalid_bytes: Option<u32>,
    #[serde(rename = "free_B")]
    pub free_bytes: Option<u32>,
    /// The erase counter that UBI keeps in the block.
    pub erases: Option<u32>,
    /// YAFFS2: the sequence number, which grows by one with each block that is allocated.
    pub sequence: Option<u32>,
    /// `None`: not known.
    pub is_bad: Option<bool>,
    /// What the block holds, in a word or two.
    pub holds: String,
    /// Number of pieces of damage in the block.
    pub damage_count: u32,
}

/// Something that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Damage {
    pub block: u32,
    /// Position in the image file.
    pub offset: u64,
    pub what: String,
    /// What of which file it hits, as far as that can be told from what is whole around it.
    pub hits: Option<Hit>,
}

/// A part of a file that a damaged node holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hit {
    pub ino: u32,
    /// The first byte, and the first behind the part. `None`: attributes, or a name.
    #[serde(rename = "range_B")]
    pub range_bytes: Option<[u64; 2]>,
    /// The last path that is known of the file. `None`: its names are not known, or nobody has looked for them.
    pub path: Option<String>,
    /// Whether the file as it is now needs the node. A node of a file that is gone, or that a later one replaces, is not
    /// in use. `None`: not known.
    pub is_in_use: Option<bool>,
    /// The number of the step that the node was, as [`crate::lost`] counts them.
    #[serde(skip)]
    pub sequence: Option<u64>,
    /// Which of [`volumes`](crate::format::ImageFormat::volumes) it is in, if there are several.
    #[serde(skip)]
    pub volume_number: usize,
}

impl Hit {
    /// Nothing else is known yet.
    pub fn new(ino: u32, range_bytes: Option<[u64; 2]>, sequence: Option<u64>) -> Hit {
        Hit { ino, range_bytes, path: None, is_in_use: None, sequence, volume_number: 0 }
    }
}

/// At most so many pieces of damage are listed. More are only counted.
const DAMAGE_LISTED_MAX: usize = 1_000;
/// What was found in the bytes of an image as they are, without mounting it.
#[derive(Default)]
pub struct Scanned {
    /// Names and values, in the order in which they are shown.
    pub superblock: Vec<(String, Value)>,
    pub blocks: Vec<BlockFacts>,
    /// Of a store of keys and values: what is in it. Those that count stand first.
    pub keys: Vec<KeyFacts>,
    /// The first pieces of damage; [`Scanned::damage_count`] is the number of all.
    pub damage: Vec<Damage>,
    pub damage_count: u64,
    /// Numbers of the bad blocks. `None`: the image has no OOB areas, which hold the marks of bad blocks.
    pub bad_blocks: Option<Vec<u32>>,
    pub notes: Vec<String>,
}

impl Scanned {
    /// Adds a name and a value of the superblock.
    pub fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.superblock.push((name.to_string(), value.into()));
    }

    /// Adds a piece of damage, at `offset` in the image.
    pub fn damaged(&mut self, block: u32, offset: u64, what: impl Into<String>) {
        self.damaged_part(block, offset, what, None);
    }

    /// As [`Scanned::damaged`], with what is known of the file that it hits.
    pub fn damaged_part(&mut self, block: u32, offset: u64, what: impl Into<String>, hits: Option<Hit>) {
        self.damage_count += 1;
        if let Some(facts) = self.blocks.get_mut(block as usize) {
            facts.damage_count += 1;
        }
        if self.damage.len() < DAMAGE_LISTED_MAX {
            self.damage.push(Damage { block, offset, what: what.into(), hits });
        }
    }
}
