//! Why it is not known what an image is, or where in it something stands.

use thiserror::Error;

/// What is wrong with an image, or with what was said of it. One line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unrecognised {
    // ---- what was said cannot be -----------------------------------------------------------------------------
    #[error("{what} of {bytes} B: a power of two from {from_bytes} to {to_bytes} is needed")]
    Size { what: &'static str, bytes: u32, from_bytes: u32, to_bytes: u32 },
    #[error("OOB areas of {bytes} B: 16 to 2048, or 0 for none, is needed")]
    OobSize { bytes: u32 },
    #[error("mtdparts and an offset or size are given: give one of them")]
    PlacesTwice,
    /// The partitions on the kernel's command line are not understood, or do not fit.
    #[error("{0}")]
    Mtdparts(String),
    #[error("{size_bytes} B at offset {offset_bytes:#x}: the image has {all_bytes} B of page data")]
    Outside { offset_bytes: u64, size_bytes: u64, all_bytes: u64 },
    #[error("a partition at {offset_bytes:#x} does not begin with a page of {page_bytes} B")]
    WithinPage { offset_bytes: u64, page_bytes: u32 },
    // ---- what was found is something else --------------------------------------------------------------------
    #[error("what is given, {given}, contradicts what is found, {found}: leave out what is not so")]
    Contradiction { given: String, found: String },
    #[error("this is no {fs} image, or its pages and OOB areas have other sizes")]
    Other { fs: &'static str },
    /// `signs`: what was looked for. `holds`: what stands in it, if somebody is told.
    #[error("nothing is known in it: {}{}; the commands file and binwalk know other formats", signs.iter().map(|sign| format!("no {sign}")).collect::<Vec<_>>().join(", "), it_holds("; it holds ", holds))]
    Nothing { signs: Vec<&'static str>, holds: String },
    /// It is something else: what, and what to do.
    #[error("no file system that is read here: {0}")]
    Named(String),
    /// All bytes are other ones, and known when they are put right by the command.
    #[error("{turn}: put right it is {what} ({command})")]
    Turned { turn: String, what: String, command: String },
    /// What its format says of an image that may be one of it for all that.
    #[error("{0}")]
    Hint(String),
    #[error("unknown data, such as a boot loader or a kernel{}", it_holds(": ", holds))]
    NoFileSystem { holds: String },
    /// A partition table cannot be used, and without it nothing is found.
    #[error("{doubts}; {why}")]
    Table { doubts: String, why: Box<Unrecognised> },
    // ---- which one is meant ----------------------------------------------------------------------------------
    /// `known` lists the partitions.
    #[error("there is no partition {name} in it: {known}")]
    NoPartition { name: String, known: String },
    #[error("volume {name}: only UBI has volumes, and there is none in it: leave it out")]
    NoVolumes { name: String },
    /// `known` lists the volumes with their numbers.
    #[error("UBI has no volume {name}: {known}")]
    NoVolume { name: String, known: String },
    #[error("it holds several partitions, choose one: {known}")]
    Several { known: String },
    // ---- more must be known ----------------------------------------------------------------------------------
    #[error(
        "this is a volume of UBIFS without UBI, as mkfs.ubifs makes it, and no image of a flash: {}; ffslab extract reads its files as \
         it is",
        ubinize(*page_bytes, *leb_bytes)
    )]
    LacksUbi { page_bytes: u32, leb_bytes: u32 },
    /// `fits`: the sizes in KiB that fit, in words.
    #[error(
        "{fs} with pages of {page_bytes} + {oob_bytes} B; the size of its erase blocks cannot be told: {fits} KiB fit, say \
         which (--block-KiB; in an experiment the part says it)"
    )]
    BlockSize { fs: &'static str, page_bytes: u32, oob_bytes: u32, fits: String },
}

fn it_holds(before: &str, holds: &str) -> String {
    if holds.is_empty() {
        String::new()
    } else {
        format!("{before}{holds}")
    }
}

/// How UBI is put around a volume: its two headers take a page each, or sub-pages of one, and on NOR 64 B each.
fn ubinize(page_bytes: u32, leb_bytes: u32) -> String {
    let block_bytes = leb_bytes.next_power_of_two();
    let options = match block_bytes - leb_bytes {
        left if left == 2 * page_bytes => format!("-m {page_bytes}"),
        left if left == page_bytes => format!("-m {page_bytes} -s {}", page_bytes / 4),
        128 if page_bytes == 8 => "-m 1".to_string(),
        _ => {
            return format!(
            "LEBs of {leb_bytes} B leave no room for UBI's headers in an erase block, so give mkfs.ubifs another -e"
        )
        }
    };
    format!("put it into one with ubinize -o image.ubi {options} -p {}KiB CONFIG", block_bytes >> 10)
}

/// Where a message is all that is left of an error.
impl From<Unrecognised> for String {
    fn from(error: Unrecognised) -> String {
        error.to_string()
    }
}

/// Lists the sizes, in KiB, as "32, 64 or 128".
pub(crate) fn either(bytes: &[u32]) -> String {
    let kib: Vec<String> = bytes.iter().map(|bytes| (bytes >> 10).to_string()).collect();
    match kib.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => kib.join(""),
    }
}
