//! The tree of files that an image holds.

mod error;
pub(crate) mod room;

pub(crate) use error::FileError;
pub use error::TreeError;

use crate::file::put;
use crate::recognise::Layout;
use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_fs::{BlockSpace, Errno, FileKind, FileSystem, Ino, PAGE_BYTES};
use ffslab_mtd::{Driver, Mtd};
use ffslab_sim::{Sim, SimConfig};
use room::{Names, Room};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// Describes an image that ends before its content is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// Position in the image file of the first thing that is incomplete.
    pub offset: u64,
    pub what: String,
}

/// An image in the form in which it is put on a chip.
pub struct OnChip<'i> {
    pub geometry: Geometry,
    /// The pages, each followed by its OOB area if `oob` is set.
    pub pages: Box<dyn Read + 'i>,
    /// Number of bytes that can be read from `pages`.
    pub bytes: u64,
    pub oob: bool,
}

/// What to do with the content of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Keep,
    /// The content is read, so that errors are found, but not kept.
    Check,
}

/// A file, directory or other object under one of its names.
#[derive(Clone, Debug)]
pub struct TreeEntry {
    /// Path below the root, with '/' between names. The root itself has an empty path.
    pub path: Vec<u8>,
    pub kind: FileKind,
    pub ino: Ino,
    /// The permission bits, 07777.
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    /// Device number in Linux's 32-bit encoding, as from `makedev`.
    pub device: u32,
    pub size_bytes: u64,
    /// Time of the last modification, in seconds since 1970.
    pub modified_s: i64,
    /// Content of a file, or target of a symbolic link.
    pub data: Vec<u8>,
    /// Why the entry could not be read.
    pub error: Option<String>,
    /// Which names of a directory were left out, in a line each.
    pub missing: Vec<String>,
}

/// The files of an image.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// All entries. A directory comes before its content, and names are in byte order.
    pub entries: Vec<TreeEntry>,
    /// Reasons to doubt that everything was found.
    pub notes: Vec<String>,
    /// What each erase block holds, as the file system accounts for it. Empty if the file system has no erase blocks.
    pub space: Vec<BlockSpace>,
}

/// Reads the files of an image of this layout.
pub fn tree_of(image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
    layout.fs.format().read(image, layout, content)
}

/// Reads the files of a mounted file system.
pub fn tree_in(fs: &mut dyn FileSystem, content: Content, notes: Vec<String>) -> Tree {
    Tree { entries: walk(fs, content), notes, space: fs.block_space() }
}

/// The image unchanged, on a chip of at least `blocks_min` erase blocks.
///
/// Errors: one line; no chip has such a geometry.
pub fn as_it_is<'i>(image: &'i [u8], layout: &Layout, blocks_min: u32) -> Result<OnChip<'i>, TreeError> {
    Ok(as_it_is_on(geometry_of(image, layout, blocks_min)?, image, layout))
}

/// The image unchanged, on a chip of this geometry.
pub(crate) fn as_it_is_on<'i>(geometry: Geometry, image: &'i [u8], layout: &Layout) -> OnChip<'i> {
    OnChip { geometry, pages: Box::new(image), bytes: image.len() as u64, oob: layout.oob_bytes > 0 }
}

/// A chip that holds the image, with one partition over all of it. All its operations take no time, because only the
/// content is of interest.
pub fn chip_with(image: &[u8], geometry: Geometry, oob: bool) -> Result<Mtd, TreeError> {
    // If the image is cut off, its last page may lack the OOB area; that page is left out.
    let page_bytes = (geometry.page_bytes + if oob { geometry.oob_bytes } else { 0 }) as usize;
    let whole = if oob { image.len() - image.len() % page_bytes } else { image.len() };
    chip_from(&mut &image[..whole], whole as u64, geometry, oob)
}

/// As [`chip_with`], of an image of this layout: without its OOB areas if what stands in them would be taken for marks of bad
/// blocks.
pub fn chip_of(image: &[u8], layout: &Layout, geometry: Geometry) -> Result<Mtd, TreeError> {
    if layout.marks_are_none(image) {
        let plain = data_areas(image, layout.page_bytes as usize, layout.oob_bytes as usize);
        return chip_with(&plain, geometry, false);
    }
    chip_with(image, geometry, layout.oob_bytes > 0)
}

/// As [`chip_with`], for an image that is read from `from`.
pub(crate) fn chip_from(from: &mut dyn Read, bytes: u64, geometry: Geometry, oob: bool) -> Result<Mtd, TreeError> {
    let timing = Timing { read_ns: 0, program_ns: 0, erase_ns: 0, bus_ps_per_byte: 0 };
    let rules = Rules { partial_programs_max: u32::MAX, in_order: false };
    let sim = Sim::new(SimConfig::default());
    let chip = Chip::new(sim, geometry, timing, rules)?;
    let mtd = Mtd::of_chip(chip, Driver::default(), 0..geometry.blocks)?;
    put(&mtd, Path::new("its pages"), from, bytes, oob)?;
    Ok(mtd)
}

/// The geometry of the smallest chip that can hold the image and has at least `blocks_min` erase blocks.
pub fn geometry_of(image: &[u8], layout: &Layout, blocks_min: u32) -> Result<Geometry, TreeError> {
    let &Layout { page_bytes, block_bytes, .. } = layout;
    if page_bytes == 0 || block_bytes == 0 || !block_bytes.is_multiple_of(page_bytes) {
        return Err(TreeError::Blocks { block_bytes, page_bytes });
    }
    let blocks = image.len().div_ceil(layout.stored_block_bytes());
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX).max(blocks_min);
    let geometry =
        Geometry { page_bytes, oob_bytes: layout.chip_oob_bytes(), pages_per_block: block_bytes / page_bytes, blocks };
    geometry.check()?;
    Ok(geometry)
}

/// Reads the root and everything below it.
fn walk(fs: &mut dyn FileSystem, content: Content) -> Vec<TreeEntry> {
    let mut entries = Vec::new();
    let mut pending = vec![(Vec::new(), fs.root(), FileKind::Directory)];
    let mut seen = BTreeSet::new();
    let flash_bytes = fs
        .block_space()
        .into_iter()
        .map(|block| u64::from(block.valid_bytes) + u64::from(block.invalid_bytes) + u64::from(block.free_bytes));
    let mut room = Room::of(flash_bytes.sum());
    while let Some((path, ino, kind)) = pending.pop() {
        let mut entry = read_entry(fs, path, ino, kind, content, &mut room);
        if entry.kind == FileKind::Directory && entry.error.is_none() {
            // In a damaged image a directory may contain itself, and the walk would never end.
            if seen.insert(ino) {
                entry.missing = list(fs, &entry, &mut pending, &mut room);
            } else {
                entry.error = Some("this directory has another name already".to_string());
            }
        }
        entries.push(entry);
    }
    entries
}

/// The page data of an image, without the OOB areas.
pub(crate) fn data_areas(image: &[u8], page_bytes: usize, oob_bytes: usize) -> Cow<'_, [u8]> {
    if oob_bytes == 0 {
        return Cow::Borrowed(image);
    }
    let pages = image.chunks(page_bytes + oob_bytes);
    let mut data = Vec::with_capacity(pages.len() * page_bytes);
    pages.for_each(|page| data.extend_from_slice(&page[..page_bytes.min(page.len())]));
    data.into()
}

/// The page data of each erase block, one block at a time, because a copy of all of them might not fit in memory.
/// `block_bytes` is a multiple of `page_bytes`.
pub(crate) fn block_data(
    image: &[u8],
    page_bytes: u32,
    oob_bytes: u32,
    block_bytes: u32,
) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let (page, oob) = (page_bytes as usize, oob_bytes as usize);
    let stored_bytes = (block_bytes / page_bytes).max(1) as usize * (page + oob);
    image.chunks(stored_bytes).map(move |block| data_areas(block, page, oob))
}

impl TreeEntry {
    pub(crate) fn new(path: Vec<u8>, ino: Ino, kind: FileKind) -> TreeEntry {
        TreeEntry {
            path,
            kind,
            ino,
            permissions: 0,
            uid: 0,
            gid: 0,
            links: 0,
            device: 0,
            size_bytes: 0,
            modified_s: 0,
            data: Vec::new(),
            error: None,
            missing: Vec::new(),
        }
    }
}

fn read_entry(
    fs: &mut dyn FileSystem,
    path: Vec<u8>,
    ino: Ino,
    kind: FileKind,
    content: Content,
    room: &mut Room,
) -> TreeEntry {
    let mut entry = TreeEntry::new(path, ino, kind);
    // Damage that was met before has nothing to do with this file.
    fs.take_damage();
    match fs.getattr(ino) {
        Ok(stat) => {
            entry.kind = stat.kind;
            entry.permissions = stat.permissions;
            (entry.uid, entry.gid) = (stat.uid, stat.gid);
            entry.links = stat.links;
            entry.device = stat.device;
            entry.size_bytes = stat.size_bytes;
            entry.modified_s = stat.modified.seconds;
        }
        Err(error) => {
            entry.error = Some(told(fs, error, None).to_string());
            return entry;
        }
    }
    let data = match entry.kind {
        FileKind::File => {
            let taken = room.take_content(entry.size_bytes, content);
            taken.and_then(|()| read_file_data(fs, ino, entry.size_bytes, content))
        }
        FileKind::Symlink => fs.readlink(ino).map_err(|error| told(fs, error, None)),
        _ => Ok(Vec::new()),
    };
    match data {
        Ok(data) => entry.data = data,
        Err(error) => entry.error = Some(error.to_string()),
    }
    entry
}

/// An error with what the file system has found on the medium, and where, if it knows.
fn told(fs: &mut dyn FileSystem, errno: Errno, offset: Option<u64>) -> FileError {
    FileError::Failed { errno, offset, damage: fs.take_damage() }
}

/// Limit for the size of a file. A damaged size or a large hole could otherwise take all memory.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 30;

fn read_file_data(fs: &mut dyn FileSystem, ino: Ino, size_bytes: u64, content: Content) -> Result<Vec<u8>, FileError> {
    if size_bytes > FILE_BYTES_MAX {
        return Err(FileError::TooLarge { mib: size_bytes >> 20, most_mib: FILE_BYTES_MAX >> 20 });
    }
    let pages = size_bytes.div_ceil(PAGE_BYTES as u64);
    let mut page = vec![0; PAGE_BYTES];
    let mut data = Vec::with_capacity(if content == Content::Keep { pages as usize * PAGE_BYTES } else { 0 });
    for index in 0..pages {
        let at = index * PAGE_BYTES as u64;
        fs.read_page(ino, index, &mut page).map_err(|error| told(fs, error, Some(at)))?;
        if content == Content::Keep {
            data.extend_from_slice(&page);
        }
    }
    data.truncate(size_bytes as usize);
    Ok(data)
}

/// Appends the names of a directory to `pending`, the last name first, because the caller takes from the end. Returns
/// which names were left out.
fn list(
    fs: &mut dyn FileSystem,
    dir: &TreeEntry,
    pending: &mut Vec<(Vec<u8>, Ino, FileKind)>,
    room: &mut Room,
) -> Vec<String> {
    let first = pending.len();
    let mut names = Names::new(room, &dir.path);
    let read = fs.readdir(dir.ino, &mut |found| {
        if let Some(path) = names.follow(found.name) {
            pending.push((path, found.ino, found.kind));
        }
    });
    pending[first..].sort_by(|a, b| b.0.cmp(&a.0));
    let mut missing = names.left_out();
    missing.extend(read.err().map(|error| format!("{error}: other names may be missing")));
    missing
}
