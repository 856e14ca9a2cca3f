//! The tree of files that an image holds.

pub(crate) mod cut_off;
mod room;
pub(crate) mod rtems;
pub(crate) mod ubifs;
pub(crate) mod yaffs2;

use crate::error::LabError;
use crate::image::{put, read_file};
use crate::inspect::damage_of;
use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_fs::{BlockSpace, FileKind, FileSystem, Ino, PAGE_BYTES};
use ffslab_jffs2::probe::{self, Misfit};
use ffslab_jffs2::{Endian, Jffs2, Options};
use ffslab_mtd::{Driver, Mtd, Nand};
use ffslab_sim::{Sim, SimConfig};
use room::{Names, Room};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// File systems whose images can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFs {
    Jffs2,
    Yaffs2,
    Ubifs,
    /// FAT12, FAT16, FAT32.
    Fat,
    /// RTEMS's own.
    Rfs,
}

impl ImageFs {
    pub const ALL: [ImageFs; 5] = [ImageFs::Jffs2, ImageFs::Yaffs2, ImageFs::Ubifs, ImageFs::Fat, ImageFs::Rfs];

    pub fn name(self) -> &'static str {
        match self {
            ImageFs::Jffs2 => "jffs2",
            ImageFs::Yaffs2 => "yaffs2",
            ImageFs::Ubifs => "ubifs",
            ImageFs::Fat => "fat",
            ImageFs::Rfs => "rfs",
        }
    }
}

/// What to do with what files hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Keep,
    /// It is read, so that errors are found, and forgotten.
    Check,
}

/// How to read an image file. Of YAFFS2 the sizes are only what is tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageOptions {
    /// `None`: what the image looks like.
    pub fs: Option<ImageFs>,
    pub page_bytes: u32,
    pub oob_bytes: u32,
    pub block_bytes: u32,
    /// Each page is followed by its OOB area.
    pub oob: bool,
    /// JFFS2: `None`: as the first node has it.
    pub endian: Option<Endian>,
}

impl Default for ImageOptions {
    /// The usual chip with 2 KiB pages, data only.
    fn default() -> Self {
        ImageOptions { fs: None, page_bytes: 2048, oob_bytes: 64, block_bytes: 128 << 10, oob: false, endian: None }
    }
}

/// What stands under one name.
#[derive(Clone, Debug)]
pub struct TreeEntry {
    /// Below the root, names separated by '/'; the root itself is empty.
    pub path: Vec<u8>,
    pub kind: FileKind,
    pub ino: Ino,
    /// Bits 07777.
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    /// Device number, as `makedev` of Linux's 32-bit numbers makes it.
    pub device: u32,
    pub size_bytes: u64,
    /// Seconds since 1970.
    pub modified_s: i64,
    /// Content of a file, target of a symbolic link.
    pub data: Vec<u8>,
    /// Why the entry could not be read.
    pub error: Option<String>,
    /// What of a directory was left out, a line each.
    pub missing: Vec<String>,
}

/// The files of an image.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Directories before what they hold, names in byte order.
    pub entries: Vec<TreeEntry>,
    /// What a reader should know: reasons to doubt that everything was found.
    pub notes: Vec<String>,
    /// What each erase block holds, as the file system accounts for it; empty: it has none.
    pub space: Vec<BlockSpace>,
}

/// Reads all files of an image, by mounting a copy of it on a simulated chip. The file is not changed.
///
/// Errors: one line; files that cannot be read, geometries that no chip has, images that the file system refuses.
pub fn read_tree(path: &Path, options: &ImageOptions) -> Result<Tree, LabError> {
    let image = read_file(path).map_err(LabError::Input)?;
    let options = ImageOptions { fs: options.fs.or_else(|| looks_like(&image, options)), ..*options };
    let cut = cut_off::find(&image, &options).map(|cut| format!("{:#x}: {}", cut.offset, cut.what));
    let mut tree = tree_of(path, &image, &options, Content::Keep).map_err(|text| {
        let cut = cut.as_ref().map_or(String::new(), |cut| format!("; {cut}"));
        LabError::Input(format!("{}: {text}{cut}", path.display()))
    })?;
    let damage = damage_of(&image, &options);
    tree.notes.extend(cut.into_iter().chain(damage).map(|text| format!("{}: {text}", path.display())));
    Ok(tree)
}

/// What an image is. `None`: nothing but JFFS2, if anything.
fn looks_like(image: &[u8], options: &ImageOptions) -> Option<ImageFs> {
    rtems::looks_like(image)
        .or_else(|| ubifs::looks_like(image, options).then_some(ImageFs::Ubifs))
        .or_else(|| yaffs2::layout(image, options).map(|_| ImageFs::Yaffs2))
}

/// As [`read_tree`], with the file's content.
pub(crate) fn tree_of(path: &Path, image: &[u8], options: &ImageOptions, content: Content) -> Result<Tree, String> {
    match options.fs {
        Some(ImageFs::Jffs2) | None => read_jffs2(path, image, options, content),
        Some(ImageFs::Yaffs2) => yaffs2::read(image, options, content),
        Some(ImageFs::Ubifs) => ubifs::read(image, options, content),
        Some(fs @ (ImageFs::Fat | ImageFs::Rfs)) => rtems::read(image, fs, content),
    }
}

/// What a mounted file system holds.
fn tree_in(fs: &mut dyn FileSystem, content: Content, notes: Vec<String>) -> Tree {
    Tree { entries: walk(fs, content), notes, space: fs.block_space() }
}

/// A chip with the image on it, and a partition of all of it. Nothing is asked but the content: no time passes.
fn chip_with(image: &[u8], geometry: Geometry, oob: bool) -> Result<Mtd, String> {
    // Of an image that is cut off the last page may be short: its OOB area is missing.
    let page_bytes = (geometry.page_bytes + if oob { geometry.oob_bytes } else { 0 }) as usize;
    let whole = if oob { image.len() - image.len() % page_bytes } else { image.len() };
    chip_from(&mut &image[..whole], whole as u64, geometry, oob)
}

/// As [`chip_with`], with an image that is made on the way.
fn chip_from(from: &mut dyn Read, bytes: u64, geometry: Geometry, oob: bool) -> Result<Mtd, String> {
    let timing = Timing { read_ns: 0, program_ns: 0, erase_ns: 0, bus_ps_per_byte: 0 };
    let rules = Rules { partial_programs_max: u32::MAX, in_order: false };
    let sim = Sim::new(SimConfig::default());
    let mut chip = Chip::new(sim, geometry, timing, rules).map_err(|error| error.to_string())?;
    put(&mut chip, Path::new("its pages"), from, bytes, oob, 0..geometry.blocks)?;
    let nand = Nand::new(chip, Driver::default()).map_err(|error| error.to_string())?;
    Mtd::new(&nand, 0, geometry.blocks).map_err(|error| error.to_string())
}

/// Bytes of an erase block in the image, OOB included.
fn stored_block_bytes(options: &ImageOptions) -> Result<usize, String> {
    let &ImageOptions { page_bytes, oob_bytes, block_bytes, oob, .. } = options;
    if page_bytes == 0 || block_bytes == 0 || !block_bytes.is_multiple_of(page_bytes) {
        return Err(format!("erase blocks of {block_bytes} B are not made of pages of {page_bytes} B"));
    }
    let page_stride = page_bytes as usize + if oob { oob_bytes as usize } else { 0 };
    Ok(page_stride * (block_bytes / page_bytes) as usize)
}

/// The smallest chip that takes the image, of at least `blocks_min` erase blocks.
pub(crate) fn geometry_of(image: &[u8], options: &ImageOptions, blocks_min: u32) -> Result<Geometry, String> {
    let &ImageOptions { page_bytes, oob_bytes, block_bytes, .. } = options;
    let blocks = image.len().div_ceil(stored_block_bytes(options)?);
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX).max(blocks_min);
    let geometry = Geometry { page_bytes, oob_bytes, pages_per_block: block_bytes / page_bytes, blocks };
    geometry.check().map_err(|error| error.to_string())?;
    Ok(geometry)
}

/// JFFS2 mounts nothing smaller.
pub(crate) const JFFS2_BLOCKS_MIN: u32 = 5;

fn read_jffs2(path: &Path, image: &[u8], options: &ImageOptions, content: Content) -> Result<Tree, String> {
    let &ImageOptions { page_bytes, oob_bytes, block_bytes, oob, .. } = options;
    let geometry = geometry_of(image, options, JFFS2_BLOCKS_MIN)?;

    let stored_oob_bytes = if oob { oob_bytes } else { 0 };
    let blocks_of = |block_bytes| block_data(image, page_bytes, stored_oob_bytes, block_bytes);
    let byte_order = || blocks_of(block_bytes).find_map(|block| probe::byte_order(&block));
    let endian = match options.endian.or_else(byte_order) {
        Some(endian) => endian,
        None if options.fs.is_none() => {
            if let Some(cut) = cut_off::volume(image) {
                return Err(cut);
            }
            return Err("there is no JFFS2 node, YAFFS2 object header, UBI header, FAT or RFS superblock in the image"
                .to_string());
        }
        None => return Err("there is no JFFS2 node in the image".to_string()),
    };
    let misfit = |block_bytes| probe::misfit(endian, blocks_of(block_bytes), block_bytes);
    let note = misfit_note(misfit, page_bytes, block_bytes);
    let notes = note.into_iter().map(|text| format!("{}: {text}", path.display())).collect();
    let mtd = chip_with(image, geometry, oob)?;
    let settings = Options { endian, ..Options::default() };
    let mut fs = Jffs2::mount(mtd, settings).map_err(|error| error.to_string())?;
    Ok(tree_in(&mut fs, content, notes))
}

/// Everything below the root.
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
            // A damaged image can hold a directory below itself.
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

/// The page data of an image, without OOB.
pub(crate) fn data_areas(image: &[u8], page_bytes: usize, oob_bytes: usize) -> Cow<'_, [u8]> {
    if oob_bytes == 0 {
        return Cow::Borrowed(image);
    }
    let pages = image.chunks(page_bytes + oob_bytes);
    let mut data = Vec::with_capacity(pages.len() * page_bytes);
    pages.for_each(|page| data.extend_from_slice(&page[..page_bytes.min(page.len())]));
    data.into()
}

/// The page data of each erase block of such a size, a multiple of the pages'. A copy of all of it might not fit in memory.
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

/// A warning about erase blocks of the wrong size, with the right one if there is one.
fn misfit_note(misfit: impl Fn(u32) -> Option<Misfit>, page_bytes: u32, block_bytes: u32) -> Option<String> {
    let (what, offset) = match misfit(block_bytes)? {
        Misfit::Crossing { offset } => ("crosses the end of its", offset),
        Misfit::Hidden { offset } => ("stands in an empty-looking", offset),
    };
    let sizes = (13..=20).map(|power| 1u32 << power).filter(|&size| size >= page_bytes);
    let right = sizes.rev().find(|&size| misfit(size).is_none());
    let advice = right.map_or(String::new(), |size| format!("; blocks of {} KiB would suit it", size >> 10));
    Some(format!(
        "files may be missing: the node at {offset:#x} {what} erase block of {} KiB{advice}",
        block_bytes >> 10
    ))
}

impl TreeEntry {
    fn new(path: Vec<u8>, ino: Ino, kind: FileKind) -> TreeEntry {
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
            entry.error = Some(error.to_string());
            return entry;
        }
    }
    let data = match entry.kind {
        FileKind::File => {
            let taken = room.take_content(entry.size_bytes, content);
            taken.and_then(|()| read_file_data(fs, ino, entry.size_bytes, content))
        }
        FileKind::Symlink => fs.readlink(ino).map_err(|error| error.to_string()),
        _ => Ok(Vec::new()),
    };
    match data {
        Ok(data) => entry.data = data,
        Err(text) => entry.error = Some(text),
    }
    entry
}

/// A damaged size, or a hole, must not take more memory than this.
const FILE_BYTES_MAX: u64 = 1 << 30;

fn read_file_data(fs: &mut dyn FileSystem, ino: Ino, size_bytes: u64, content: Content) -> Result<Vec<u8>, String> {
    if size_bytes > FILE_BYTES_MAX {
        return Err(format!("a file of {} MiB: {} MiB is the limit here", size_bytes >> 20, FILE_BYTES_MAX >> 20));
    }
    let pages = size_bytes.div_ceil(PAGE_BYTES as u64);
    let mut page = vec![0; PAGE_BYTES];
    let mut data = Vec::with_capacity(if content == Content::Keep { pages as usize * PAGE_BYTES } else { 0 });
    for index in 0..pages {
        let at = index * PAGE_BYTES as u64;
        fs.read_page(ino, index, &mut page).map_err(|error| format!("{error} at offset {at}"))?;
        if content == Content::Keep {
            data.extend_from_slice(&page);
        }
    }
    data.truncate(size_bytes as usize);
    Ok(data)
}

/// Appends the names of a directory, last name first, because the caller takes from the end; what was left out.
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
