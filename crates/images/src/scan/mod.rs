//! Images read as they stand, without mounting them: what the superblock says, what each block holds, damage.

mod flash;
mod volumes;

use crate::recognise::Layout;
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
}

/// At most so many pieces of damage are listed. More are only counted.
const DAMAGE_LISTED_MAX: usize = 1_000;
/// At most so many pieces of damage are reported to a user who reads the files of an image.
const DAMAGE_TOLD_MAX: usize = 8;

/// What was found in the bytes of an image as they are, without mounting it.
#[derive(Default)]
pub struct Scanned {
    /// Names and values, in the order in which they are shown.
    pub superblock: Vec<(String, Value)>,
    pub blocks: Vec<BlockFacts>,
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
        self.damage_count += 1;
        if let Some(facts) = self.blocks.get_mut(block as usize) {
            facts.damage_count += 1;
        }
        if self.damage.len() < DAMAGE_LISTED_MAX {
            self.damage.push(Damage { block, offset, what: what.into() });
        }
    }
}

/// Describes the damage of an image, a line for each piece; of much damage only the first pieces and the number of the
/// others. The files that the damage belongs to may be missing from the tree without any error, because a mount skips
/// broken nodes and pages. The image begins at `starts_at` in its file.
pub(crate) fn damage_of(image: &[u8], layout: &Layout, starts_at: usize) -> Vec<String> {
    let scanned = scan(image, layout);
    let told = scanned.damage.iter().take(DAMAGE_TOLD_MAX).map(|damage| {
        let Damage { block, offset, what } = damage;
        let offset = offset + starts_at as u64;
        format!("block {block}, offset {offset:#x}: {what}: files or parts of them may be missing")
    });
    let mut told: Vec<String> = told.collect();
    let more = scanned.damage_count.saturating_sub(told.len() as u64);
    if more > 0 {
        told.push(format!("{more} more pieces of damage: ffslab inspect lists them"));
    }
    told
}

/// Looks at an image of this layout.
pub fn scan(image: &[u8], layout: &Layout) -> Scanned {
    let format = layout.fs.format();
    let mut scanned = if format.is_volume() { volumes::begin(layout) } else { flash::begin(image, layout) };
    format.scan(image, layout, &mut scanned);
    if format.is_volume() {
        volumes::finish(&mut scanned);
    }
    scanned
}
