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
    /// `signs`: what was looked for.
    #[error("nothing is known in it: {}", signs.iter().map(|sign| format!("no {sign}")).collect::<Vec<_>>().join(", "))]
    Nothing { signs: Vec<&'static str> },
    /// It is something else: what, and what to do.
    #[error("no file system that is read here: {0}")]
    Named(String),
    /// What its format says of an image that may be one of it for all that.
    #[error("{0}")]
    Hint(String),
    #[error("unknown data, such as a boot loader or a kernel")]
    NoFileSystem,
    // ---- which one is meant ----------------------------------------------------------------------------------
    /// `known` lists the partitions.
    #[error("there is no partition {name} in it: {known}")]
    NoPartition { name: String, known: String },
    #[error("it holds several partitions, choose one: {known}")]
    Several { known: String },
    // ---- more must be known ----------------------------------------------------------------------------------
    #[error(
        "this is a volume of UBIFS without UBI, as mkfs.ubifs makes it, and no image of a flash: put it into one with ubinize \
         -o image.ubi -m {page_bytes} -p {block_kib}KiB CONFIG; ffslab extract reads its files as it is"
    )]
    LacksUbi { page_bytes: u32, block_kib: u32 },
    /// `fits`: the sizes in KiB that fit, in words.
    #[error(
        "{fs} with pages of {page_bytes} + {oob_bytes} B; the size of its erase blocks cannot be told: {fits} KiB fit, say \
         which (--block-KiB; in an experiment the part says it)"
    )]
    BlockSize { fs: &'static str, page_bytes: u32, oob_bytes: u32, fits: String },
}

/// Where a message is all that is left of an error.
impl From<Unrecognised> for String {
    fn from(error: Unrecognised) -> String {
        error.to_string()
    }
}
