//! # inspect: what is in a flash image or a dump, and what it would cost a board
//!
//! **Role.** Format and sizes, superblock, files, space and wear of each erase block, damage, and what it would cost to mount
//! the image and to read its files. The facts are found in two ways, and neither trusts the image: the bytes are read as they
//! are, block by block (`images`), and a copy is mounted on a simulated machine (`lab`).
//!
//! **Follows.** What people ask of a dump from the field: is it whole, how full is it, how worn, why does it boot slowly.
//!
//! **Leaves out.** Repairing anything: the file is not changed. How long the flash will last: `ffslab lifetime` computes it in Python.

mod cost;

use ffslab_fs::FileKind;
use ffslab_images::dump::Dump;
use ffslab_images::key_values::KeyFacts;
use ffslab_images::look::Look;
use ffslab_images::lost::Lost;
use ffslab_images::scan::{BlockFacts, Damage};
use ffslab_images::tree::TreeEntry;
use ffslab_images::{ImageError, Layout, Part, Unrecognised, Wanted};
use ffslab_lab::counts::{CauseSummary, Counts};
use ffslab_lab::legend::Legend;
use ffslab_lab::{Described, LabError};
use ffslab_machine::file_systems;
use ffslab_text::quoting::as_text;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// What is answered.
pub const SCHEMAS: &[Described] =
    &[Described::written::<Vec<Inspected>>("inspection", "what is in the partitions of an image")];

/// How to look at an image.
#[derive(Clone, Debug, Default)]
pub struct InspectOptions {
    /// What the user says about the image, which then need not be guessed.
    pub wanted: Wanted,
    /// Board, part and kernel that mount it, as in an experiment; `part` and `kernel` default to the board's.
    pub board: String,
    pub part: Option<String>,
    pub kernel: Option<String>,
    /// Profile of the block device that holds a FAT or RFS volume.
    pub device: String,
    /// Look for what was deleted or overwritten, too.
    pub deleted: bool,
}

/// A partition and what was found in it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Inspected {
    pub part: Part,
    /// What was found in the partition, or why nothing is known of it.
    pub found: Result<Inspection, String>,
}

/// Everything that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Inspection {
    pub file: String,
    #[serde(rename = "file_B")]
    pub file_bytes: u64,
    pub layout: Layout,
    /// Name and value, in the order of the format's description.
    pub superblock: Vec<(String, Value)>,
    pub files: Vec<FileFacts>,
    /// Erase blocks from the first of the partition on; for a block file system, areas of equal size.
    pub blocks: Vec<BlockFacts>,
    /// Of a store of keys and values: what is in it, those that count first.
    pub keys: Vec<KeyFacts>,
    /// The first pieces of damage; [`Inspection::damage_count`] is the number of all.
    pub damage: Vec<Damage>,
    pub damage_count: u64,
    /// Numbers of the bad blocks. `None`: the image has no OOB areas, which hold the marks of bad blocks.
    pub bad_blocks: Option<Vec<u32>>,
    /// `None`: no file system could be mounted; the notes say why.
    pub mount: Option<MountFacts>,
    /// What was deleted or overwritten; `None`: nobody has looked for it.
    pub lost: Option<Lost>,
    pub notes: Vec<String>,
    /// Those of the notes that say why the files may be others than are read, or more of them.
    pub doubts: Vec<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileFacts {
    pub path: String,
    pub kind: &'static str,
    #[serde(rename = "size_B")]
    pub size_bytes: u64,
    pub links: u32,
    /// The cost of reading the file from its start to its end, if that was simulated.
    pub read: Option<ReadFacts>,
    pub error: Option<String>,
}

/// The cost of reading a file from its start to its end, with nothing in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ReadFacts {
    /// Number of runs of neighbouring pages (on block devices: sectors) among the pages that are read.
    pub pieces: u64,
    /// Number of page reads; on a block device, of buffers read.
    pub reads: u64,
    /// The least number of reads: as many as the file's size has pages (on block devices: buffers of the cache).
    pub least_reads: u64,
    pub time_us: f64,
}

/// What a mount costs, in the simulator.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MountFacts {
    /// Where the mount was simulated: board, part and kernel, or the block device.
    pub machine: String,
    pub time_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    pub by_cause: Vec<CauseSummary>,
    /// Explains the tasks and reasons in `by_cause`.
    pub causes: Legend,
    /// Number of buffers that were read, if it is a block device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_reads: Option<u64>,
    #[serde(rename = "device_read_B", skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<u64>,
}

/// Inspects each partition of an image. The file is not changed.
///
/// Errors: [`LabError::Input`] with one line; the file cannot be read, nothing in it is recognised, sizes are
/// impossible or cannot be found out, or a profile does not exist.
pub fn inspect(path: &Path, options: &InspectOptions) -> Result<Vec<Inspected>, LabError> {
    let mut dump = Dump::read(path, &options.wanted)?;
    let refused = |why: Unrecognised| ImageError::refused(path, why);
    let parts = dump.parts(&options.wanted, &file_systems::image_formats()).map_err(refused)?;
    let image = dump.image;
    let is_one = parts.len() == 1;
    let mut all = Vec::new();
    for part in parts {
        let found = match part.layout.clone().and_then(Layout::sized) {
            Ok(layout) => {
                Ok(look_into(path, &image[part.place_bytes.clone()], part.place_bytes.start, layout, options)?)
            }
            Err(why) if is_one => return Err(refused(why).into()),
            Err(why) => Err(why.to_string()),
        };
        all.push(Inspected { part, found });
    }
    Ok(all)
}

/// As [`inspect`], for the partition that begins at `starts_at` in the file.
fn look_into(
    path: &Path,
    image: &[u8],
    starts_at: usize,
    layout: Layout,
    options: &InspectOptions,
) -> Result<Inspection, LabError> {
    let machine = cost::Machine::of(&layout, options)?;
    let mut look = Look::at(image, &layout, starts_at);
    let mut files: Vec<FileFacts> = look.tree.entries.iter().map(FileFacts::of).collect();
    let mount = match machine.mount(image, &layout) {
        Ok(mount) => Some(mount),
        Err(error) => {
            look.scanned.notes.push(format!("the cost of a mount is not known: {error}"));
            None
        }
    };
    if mount.is_some() {
        if let Err(error) = machine.read_files(image, &layout, &look.tree.entries, &mut files) {
            look.scanned.notes.push(format!("the cost of reading is not known: {error}"));
        }
    }
    // Last, when the simulated flash is out of memory.
    look.complete(image, &layout);
    let lost = options.deleted.then(|| look.lost(image, &layout));
    let scanned = look.scanned;
    Ok(Inspection {
        file: path.display().to_string(),
        file_bytes: image.len() as u64,
        layout,
        superblock: scanned.superblock,
        files,
        blocks: scanned.blocks,
        keys: scanned.keys,
        damage: scanned.damage,
        damage_count: scanned.damage_count,
        bad_blocks: scanned.bad_blocks,
        mount,
        lost,
        notes: scanned.notes,
        doubts: look.doubts,
    })
}

impl FileFacts {
    fn of(entry: &TreeEntry) -> FileFacts {
        FileFacts {
            path: as_text(&entry.path),
            kind: entry.kind.name(),
            size_bytes: entry.size_bytes,
            links: entry.links,
            read: None,
            error: entry.error.clone().or_else(|| (!entry.missing.is_empty()).then(|| entry.missing.join("; "))),
        }
    }
}

/// Whether the file can be read from its start to its end, so that the cost of reading it is worth a simulation.
fn is_readable(entry: &TreeEntry) -> bool {
    entry.kind == FileKind::File && entry.error.is_none() && entry.size_bytes > 0
}
