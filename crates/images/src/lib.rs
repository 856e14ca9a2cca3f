//! # images: what is in the image of a flash or of a volume
//!
//! **Role.** Finds out what an image is ([`recognise`]), cuts the dump of a whole chip into its partitions
//! ([`recognise::parts`]), puts images on simulated media ([`mod@file`], [`recognise::arranged`]), reads their files ([`tree`]), and
//! says what stands in each block and what is damaged ([`scan()`]), for which file a block was written ([`purposes`]), and what was deleted or overwritten ([`lost`]); [`look`] does all of it. What is asked about a format is one trait ([`ImageFormat`]);
//! the formats of the file systems that ffslab has implement it here.
//!
//! **Follows.** `nanddump`, `nandwrite` and the `mkfs` tools of mtd-utils and YAFFS2 for the layouts of files; the kernel's
//! `mtdparts` for partitions.
//!
//! **Leaves out.** Which file systems there are: `lab` has the table of them, and hands over those to look for. What a mount would
//! cost: `inspect` asks a simulated board.

mod areas;
mod crc8;
pub mod dump;
pub mod erofs;
pub mod esp_nvs;
pub mod file;
pub mod format;
// Mapping a file is not safe in the sense of Rust.
#[allow(unsafe_code)]
pub mod held;
pub mod jffs2;
pub mod key_values;
pub mod littlefs;
pub mod look;
pub mod lost;
mod named;
pub mod on_chip;
pub mod part_trees;
pub mod purposes;
pub mod recognise;
pub mod rtems_volumes;
pub mod scan;
pub mod spiffs;
pub mod squashfs;
pub mod tree;
pub mod ubifs;
pub mod unrecognised;
mod walk;
mod written;
pub mod yaffs2;
pub mod zephyr_fcb;
pub mod zephyr_nvs;
mod zephyr_ring;
pub mod zephyr_zms;

pub use dump::parts_of_file;
use ffslab_rawblock::little_endian;
pub use file::{ImageError, ImageSpec};
pub use format::{BlockLook, BlockOwner, BlockReader, Evidence, Given, ImageFormat, ImageFs, Layout};
pub use part_trees::{read_trees, PartTree};
pub use recognise::part::Part;
pub use recognise::parts::{only_part_of_file, Wanted};
pub use scan::{scan, Scanned};
pub use tree::{Tree, TreeEntry};
pub use unrecognised::Unrecognised;
