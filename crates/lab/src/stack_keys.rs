//! The `[stack]` table of an experiment: a board by name, and what differs from it.

use crate::error::LabError;
use crate::file_systems::{self, join_names, Descriptor};
use crate::media;
use crate::stack::NO_FS;
use ffslab_images::recognise::arranged::{Arranged, Said};
use ffslab_images::Wanted;
use ffslab_jffs2::Endian;
use ffslab_linux::DirtyLimits;
use ffslab_profiles::{EccName, NandWaitName, Yaffs2Version};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

pub use crate::systems::StackTable;

/// The machine and its file system. What is absent comes from the board, its part and its kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StackKeys {
    /// Name of a board profile, or the path of one, relative to the experiment.
    pub board: String,
    /// Name or path of a kernel profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Name or path of a NAND part, instead of the board's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// File system; "none" for a partition that only `mtd_loop` works on.
    #[schemars(schema_with = "names_of_file_systems")]
    pub fs: String,
    /// What holds the partition; raw NAND if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "names_of_media")]
    pub medium: Option<String>,
    /// First erase block of the partition.
    #[serde(default)]
    pub first_block: u32,
    /// Erase blocks of the partition.
    pub partition_blocks: u32,
    /// Read-ahead of the mounted file system; 0 switches it off.
    #[serde(rename = "read_ahead_KiB", default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_kib: Option<u32>,
    /// Memory that the page cache may take.
    #[serde(rename = "page_cache_KiB", default, skip_serializing_if = "Option::is_none")]
    pub page_cache_kib: Option<u64>,
    /// How much may be dirty before writers are held up (`vm.dirty_bytes`), instead of the kernel profile's share of the page
    /// cache.
    #[serde(rename = "dirty_KiB", default, skip_serializing_if = "Option::is_none")]
    pub dirty_kib: Option<u64>,
    /// How much may be dirty before the flusher begins (`vm.dirty_background_bytes`); without it half of `dirty_KiB`.
    #[serde(rename = "dirty_background_KiB", default, skip_serializing_if = "Option::is_none")]
    pub dirty_background_kib: Option<u64>,
    /// The file system's compressor.
    #[serde(default)]
    pub compression: CompressionName,
    /// UBI: erase blocks of 1024 of the whole chip that are kept to replace bad ones.
    #[serde(rename = "max_beb_per1024", default, skip_serializing_if = "Option::is_none")]
    pub bad_reserve_per_1024: Option<u32>,
    /// UBIFS: files that are read page after page are read in larger pieces (mount option `bulk_read`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bulk_read: bool,
    /// UBI: where in an erase block the volume identifier header stands, if not in the first sub-page or page behind the
    /// erase counter header (`-O` of ubinize).
    #[serde(rename = "vid_hdr_offset_B", default, skip_serializing_if = "Option::is_none")]
    pub vid_header_offset_bytes: Option<u32>,
    /// JFFS2's erase block summaries.
    #[serde(default)]
    pub summary: bool,
    /// An image that the partition holds at the start, relative to the experiment: what `nandwrite` takes. One without
    /// OOB may come from `mkfs.jffs2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// In the image each page is followed by its OOB area, as in `nanddump --oob`; found in it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_oob: Option<bool>,
    /// The OOB areas in the image begin with the bytes that belong to the chip's free ones, as in images of
    /// `mkyaffs2image`: they are put there (`nandwrite --autoplace`). Found in it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_autoplace: Option<bool>,
    /// The image is the dump of a whole chip, and these are its partitions, as on the kernel's command line:
    /// "nand:512k(boot)ro,8M(root),-(data)".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_mtdparts: Option<String>,
    /// The image's partition that is meant, one of `image_mtdparts` or of those that are found in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_partition: Option<String>,
    /// Where in the image the partition begins, without OOB areas.
    #[serde(rename = "image_offset_B", default, skip_serializing_if = "Option::is_none")]
    pub image_offset_bytes: Option<u64>,
    #[serde(rename = "image_size_B", default, skip_serializing_if = "Option::is_none")]
    pub image_size_bytes: Option<u64>,
    /// Age of YAFFS2's sources; that of the kernel profile if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yaffs2_version: Option<Yaffs2Version>,
    /// YAFFS2 keeps its tags in the data area of a page instead of the OOB area.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inband_tags: bool,
    /// Byte order of JFFS2's nodes.
    #[serde(default, skip_serializing_if = "EndianName::is_little")]
    pub endian: EndianName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nand_wait: Option<NandWaitName>,
    /// Timer ticks per second (CONFIG_HZ).
    #[serde(rename = "hz", default, skip_serializing_if = "Option::is_none")]
    pub tick_rate_hz: Option<u32>,
    /// How long the machine has been up when the simulation begins. JFFS2 chooses blocks by the tick counter, so
    /// runs with other values show how much results scatter.
    #[serde(default)]
    pub uptime_us: u64,
    /// The tracers run with which the board was measured, and take their time: only for comparing with such measurements.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traced: bool,
    /// What reading the clock costs the measuring program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_read_ns: Option<u64>,
}

/// For editors: the file systems that can be mounted. In answers any may stand, and who reads them need not know.
fn names_of_file_systems(generator: &mut SchemaGenerator) -> Schema {
    if generator.contract().is_serialize() {
        return json_schema!({"type": "string"});
    }
    let mountable = file_systems::all().into_iter().filter(|fs| fs.mountable.is_some()).map(|fs| fs.name);
    let names: Vec<&str> = mountable.chain([NO_FS]).collect();
    json_schema!({"type": "string", "enum": names})
}

/// For editors: the media on which a partition can stand.
fn names_of_media(generator: &mut SchemaGenerator) -> Schema {
    if generator.contract().is_serialize() {
        return json_schema!({"type": ["string", "null"]});
    }
    let media = media::all().into_iter().filter(|medium| medium.on_linux.is_some()).map(|medium| medium.name);
    let names: Vec<Option<&str>> = media.map(Some).chain([None]).collect();
    json_schema!({"type": ["string", "null"], "enum": names})
}

/// Whether a key says something; its default says nothing.
type IsGiven = fn(&StackKeys) -> bool;

/// Keys that only some file systems have. Which ones says each file system's descriptor
/// ([`crate::file_systems::Mountable::own_keys`]).
const OWNED_KEYS: [(&str, IsGiven); 8] = [
    ("compression", |keys| keys.compression != CompressionName::None),
    ("summary", |keys| keys.summary),
    ("endian", |keys| !keys.endian.is_little()),
    ("yaffs2_version", |keys| keys.yaffs2_version.is_some()),
    ("inband_tags", |keys| keys.inband_tags),
    ("bulk_read", |keys| keys.bulk_read),
    ("max_beb_per1024", |keys| keys.bad_reserve_per_1024.is_some()),
    ("vid_hdr_offset_B", |keys| keys.vid_header_offset_bytes.is_some()),
];

/// Keys that only some file systems have, with the names of those that do.
pub(crate) fn owned_keys() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let table = file_systems::all();
    OWNED_KEYS.iter().map(move |(key, _)| {
        let owns = |fs: &&&Descriptor| fs.mountable.is_some_and(|mountable| mountable.own_keys().contains(key));
        (*key, table.iter().filter(owns).map(|fs| fs.name).collect())
    })
}

/// The keys of a Linux stack that a file system does not have and one of `others` has: in an experiment that compares
/// them they are the others' alone.
pub(crate) fn keys_of_others<'a>(fs: &'a str, others: &'a [&str]) -> impl Iterator<Item = &'static str> + 'a {
    let of_others = move |owners: &[&str]| !owners.contains(&fs) && owners.iter().any(|owner| others.contains(owner));
    owned_keys().filter(move |(_, owners)| of_others(owners)).map(|(key, _)| key)
}

impl StackKeys {
    /// A board with a file system on a partition of so many erase blocks; all other keys have their defaults.
    pub fn of(board: &str, fs: &str, partition_blocks: u32) -> StackKeys {
        let keys = serde_json::json!({ "board": board, "fs": fs, "partition_blocks": partition_blocks });
        serde_json::from_value(keys).expect("all other keys have defaults")
    }

    /// Whether a file system can own this key.
    pub(crate) fn can_be_owned(key: &str) -> bool {
        OWNED_KEYS.iter().any(|(name, _)| *name == key)
    }

    /// A key that nothing would look at is a mistake.
    ///
    /// Errors: one that the file system does not have.
    pub(crate) fn refuse_what_does_not_apply(&self) -> Result<(), LabError> {
        let fs = self.fs.as_str();
        let mut foreign = owned_keys().zip(OWNED_KEYS).filter(|((_, owners), _)| !owners.contains(&fs));
        match foreign.find(|(_, (_, is_given))| is_given(self)) {
            Some(((key, owners), _)) => {
                let owners = join_names(&owners);
                Err(LabError::Input(format!("{key} belongs to {owners}, not to {fs}: leave it out")))
            }
            None => Ok(()),
        }
    }

    /// How much may be dirty, if the keys say so, else `by_default`.
    ///
    /// Errors: a limit without meaning.
    pub fn dirty_limits(&self, by_default: DirtyLimits) -> Result<DirtyLimits, LabError> {
        match (self.dirty_kib, self.dirty_background_kib) {
            (None, None) => Ok(by_default),
            (None, Some(_)) => {
                Err(LabError::input("dirty_background_KiB is set, but not dirty_KiB: give both, or dirty_KiB alone"))
            }
            (Some(0), _) => Err(LabError::input("dirty_KiB = 0: at least 1 is needed")),
            (Some(dirty), Some(background)) if background > dirty => Err(LabError::Input(format!(
                "dirty_background_KiB = {background}: at most dirty_KiB = {dirty} makes sense"
            ))),
            (Some(dirty), background) => Ok(DirtyLimits::Bytes {
                dirty_bytes: dirty.saturating_mul(1024),
                background_bytes: background.unwrap_or(dirty / 2).saturating_mul(1024),
            }),
        }
    }
}

/// The mount option `compr=`. JFFS2: none, zlib, rtime, lzo and its compiled-in modes priority and size. UBIFS: none, lzo,
/// zlib, zstd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompressionName {
    #[default]
    None,
    Zlib,
    Rtime,
    Lzo,
    Zstd,
    Priority,
    Size,
}

/// Byte order of a medium: that of the CPU that wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndianName {
    #[default]
    Little,
    Big,
}

impl EndianName {
    /// The default, which needs not be written out.
    pub fn is_little(&self) -> bool {
        *self == EndianName::Little
    }
}

impl StackKeys {
    /// What the keys say about the image.
    pub(crate) fn image_said(&self) -> Said {
        Said {
            oob: self.image_oob,
            autoplace: self.image_autoplace,
            wanted: Wanted {
                mtdparts: self.image_mtdparts.clone(),
                offset_bytes: self.image_offset_bytes,
                size_bytes: self.image_size_bytes,
                partition: self.image_partition.clone(),
                ..Wanted::default()
            },
        }
    }

    /// Fills in what was found in the image.
    ///
    /// Errors: one line; the keys say otherwise.
    pub(crate) fn take(&mut self, arranged: &Arranged) -> Result<(), String> {
        self.image_oob = arranged.oob.then_some(true).or(self.image_oob);
        self.image_autoplace = arranged.autoplace.then_some(true).or(self.image_autoplace);
        let Some(layout) = &arranged.layout else { return Ok(()) };
        if self.inband_tags && layout.yaffs2.is_some() && !arranged.is_inband() {
            return Err("inband_tags = true, but its tags stand in the OOB areas: leave the key out".to_string());
        }
        self.inband_tags |= arranged.is_inband();
        match (self.endian, layout.endian) {
            (EndianName::Big, Some(Endian::Little)) => {
                return Err("endian = \"big\", but its nodes are little-endian: leave the key out".to_string());
            }
            (_, Some(Endian::Big)) => self.endian = EndianName::Big,
            _ => {}
        }
        self.vid_header_offset_bytes = self.vid_header_offset_bytes.or(layout.ubi_at_bytes.map(|(vid, _)| vid));
        Ok(())
    }
}
