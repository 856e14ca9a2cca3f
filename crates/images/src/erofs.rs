//! Images of EROFS, read as they stand.
//!
//! **Follows.** `fs/erofs/erofs_fs.h` of Linux 6.1 for what stands in them, and the crate `erofs` for what it means.
//!
//! **Leaves out.** Extended attributes. What a Linux 6.1 without lzma would not mount: it is named.

use crate::format::{Evidence, ImageFormat, ImageFs};
use crate::recognise::{Given, Layout};
use crate::scan::Scanned;
use crate::tree::room::{Names, Room};
use crate::tree::{Content as Wanted, CutOff, FileError, Tree, TreeEntry, TreeError, FILE_BYTES_MAX};
use ffslab_erofs::inode::{self, Inode};
use ffslab_erofs::{content, names, Content, Superblock, BLOCK_BYTES, MAGIC, SUPERBLOCK_AT};
use ffslab_fs::{FileKind, Ino};
use ffslab_rawblock::Wrong;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How they are recognised, read and explained.
pub struct InImages;

/// For the picture of the space: areas of so many bytes, at most so many of them.
const AREA_BYTES_MIN: u32 = 128 << 10;
const AREAS_MAX: usize = 1024;
const SECTOR_BYTES: u32 = 512;
/// Names that an image may have: one for so many of its bytes, and some.
const NAMES_ALWAYS: usize = 4096;
const BYTES_A_NAME: usize = 2;
const UNCHECKED: &str = "EROFS has a check sum over its superblock alone: most changed bits of a file do not show";

/// The files of one that begins at the start of `image`. `None`: there is none, or one that is not read.
pub fn files(image: &[u8], wanted: Wanted) -> Option<Tree> {
    let superblock = Superblock::of(image)?;
    let mut walk = Walk {
        from: Content::of(image, superblock),
        wanted,
        room: Room::of(image.len() as u64),
        names_left: NAMES_ALWAYS + image.len() / BYTES_A_NAME,
        numbers: BTreeMap::new(),
    };
    Some(Tree { entries: walk.entries(superblock.root_number), ..Tree::default() })
}

/// Where in an image the first superblock stands that is taken.
pub fn first(image: &[u8]) -> Option<usize> {
    starts(image).next()
}

/// Whether the root of the one that begins there can be read.
pub fn is_readable(image: &[u8]) -> bool {
    let root = |superblock: Superblock| inode::read(&mut Content::of(image, superblock), superblock.root_number);
    Superblock::of(image).is_some_and(|superblock| root(superblock).is_ok())
}

fn starts(image: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let magic = MAGIC.to_le_bytes();
    let magics = image.windows(magic.len()).enumerate().skip(SUPERBLOCK_AT).filter(move |(_, here)| *here == magic);
    magics.map(|(at, _)| at - SUPERBLOCK_AT).filter(|&at| Superblock::of(&image[at..]).is_some())
}

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "EROFS superblock"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Superblock]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], _given: &Given, _evidence: Evidence) -> Option<Layout> {
        Superblock::of(image)?;
        let area_bytes = ((image.len() / AREAS_MAX).next_power_of_two() as u32).max(AREA_BYTES_MIN);
        let layout = Layout::new(fs, SECTOR_BYTES, 0, area_bytes, image).unchecked(UNCHECKED);
        Some(layout.because("its superblock is one of EROFS".to_string()))
    }

    fn hint(&self, _fs: ImageFs, image: &[u8], _given: &Given) -> Option<String> {
        let why = Superblock::read(image)?.err()?;
        Some(format!("it is EROFS, and {why}; fsck.erofs --extract may read it"))
    }

    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        let first = self.places(image).first().filter(|_| layout.is_none())?.start;
        (first > 0).then_some(first)
    }

    /// Those whose root can be read: four bytes of a program may look like a superblock.
    fn places(&self, image: &[u8]) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        for at in starts(image).filter(|&at| is_readable(&image[at..])) {
            let bytes = Superblock::of(&image[at..]).map_or(0, |superblock| superblock.bytes());
            if places.last().is_none_or(|before| before.end <= at) {
                places.push(at..image.len().min(at.saturating_add(bytes as usize)));
            }
        }
        places
    }

    fn is_volume(&self) -> bool {
        true
    }

    fn read(&self, image: &[u8], _layout: &Layout, wanted: Wanted) -> Result<Tree, TreeError> {
        files(image, wanted).ok_or(TreeError::Superblock)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        let Some(superblock) = Superblock::of(image) else { return };
        scanned.fact("bytes used", superblock.bytes());
        scanned.fact("inodes", superblock.inodes_count);
        scanned.fact("made, s since 1970", superblock.made_s);
        scanned.fact("features", superblock.feature_names().join(", "));
        for facts in &mut scanned.blocks {
            let place = layout.place(facts.block, image);
            let used = (superblock.bytes() as usize).clamp(place.start, place.end) - place.start;
            facts.valid_bytes = Some(used as u32);
            facts.free_bytes = Some((place.len() - used) as u32);
        }
        if let Err(wrong) = inode::read(&mut Content::of(image, superblock), superblock.root_number) {
            let block = (wrong.at_bytes / u64::from(layout.block_bytes)) as u32;
            scanned.damaged(block, wrong.at_bytes, format!("the root directory: {}", wrong.what));
        }
    }

    fn cut_off(&self, image: &[u8], _layout: &Layout) -> Option<CutOff> {
        let used_bytes = Superblock::of(image)?.bytes();
        let here = image.len() as u64;
        let what = format!("the image ends after {here} of the {used_bytes} B that its superblock says");
        (here < used_bytes).then_some(CutOff { offset: here, what })
    }
}

struct Walk<'i> {
    from: Content<'i>,
    wanted: Wanted,
    room: Room,
    names_left: usize,
    /// Two names of one inode are hard links.
    numbers: BTreeMap<u64, Ino>,
}

impl Walk<'_> {
    fn entries(&mut self, root: u64) -> Vec<TreeEntry> {
        let mut entries = Vec::new();
        let mut pending = vec![(Vec::new(), root)];
        let mut seen = BTreeSet::new();
        while let Some((path, number)) = pending.pop() {
            let (mut entry, directory) = self.entry(path, number);
            if let Some(directory) = directory {
                // In a damaged image a directory may contain itself, and the walk would never end.
                if seen.insert(number) {
                    entry.missing = self.list(&entry, &directory, &mut pending);
                } else {
                    entry.error = Some("this directory has another name already".to_string());
                }
            }
            entries.push(entry);
        }
        entries
    }

    /// An entry, and the inode of a directory.
    fn entry(&mut self, path: Vec<u8>, number: u64) -> (TreeEntry, Option<Inode>) {
        let next = self.numbers.len() as Ino + 1;
        let ino = *self.numbers.entry(number).or_insert(next);
        let mut entry = TreeEntry::new(path, ino, FileKind::File);
        let inode = match inode::read(&mut self.from, number) {
            Ok(inode) => inode,
            Err(wrong) => {
                entry.error = Some(format!("its inode cannot be read: {wrong}"));
                return (entry, None);
            }
        };
        entry.kind = inode.kind;
        (entry.permissions, entry.links) = (inode.permissions, inode.links);
        (entry.uid, entry.gid) = (inode.uid, inode.gid);
        entry.modified_s = inode.modified_s as i64;
        entry.device = inode.device;
        if inode.kind == FileKind::Directory {
            return (entry, Some(inode));
        }
        if matches!(inode.kind, FileKind::File | FileKind::Symlink) {
            entry.size_bytes = inode.bytes;
            match self.content_of(&inode) {
                Ok(data) if self.wanted == Wanted::Keep || inode.kind == FileKind::Symlink => entry.data = data,
                Ok(_) => {}
                Err(why) => entry.error = Some(why),
            }
        }
        (entry, None)
    }

    fn content_of(&mut self, inode: &Inode) -> Result<Vec<u8>, String> {
        if inode.bytes > FILE_BYTES_MAX {
            let (mib, most_mib) = (inode.bytes >> 20, FILE_BYTES_MAX >> 20);
            return Err(FileError::TooLarge { mib, most_mib }.to_string());
        }
        // Reading takes time, so that it counts whether the content is kept or not.
        self.room.take_content(inode.bytes, Wanted::Keep).map_err(|why| why.to_string())?;
        content(&mut self.from, inode).map_err(|wrong| wrong.to_string())
    }

    /// Appends the names of a directory to `pending`, the last one first. Returns which were left out.
    fn list(&mut self, dir: &TreeEntry, inode: &Inode, pending: &mut Vec<(Vec<u8>, u64)>) -> Vec<String> {
        let first = pending.len();
        let mut left_out = dir.missing.clone();
        let held = match self.content_of(inode) {
            Ok(held) => held,
            Err(why) => return vec![format!("{why}: no name of it is known")],
        };
        let mut found = Vec::new();
        for block in held.chunks(BLOCK_BYTES as usize) {
            match names(block) {
                Ok(names) => found.extend(names),
                Err(Wrong { what, .. }) => left_out.push(format!("{what}: other names may be missing")),
            }
        }
        let mut names = Names::new(&mut self.room, &dir.path);
        for name in found.into_iter().filter(|name| name.name != b"." && name.name != b"..") {
            let Some(left) = self.names_left.checked_sub(1) else {
                left_out.push("more names than an image of this size can have".to_string());
                break;
            };
            self.names_left = left;
            if let Some(path) = names.follow(&name.name) {
                pending.push((path, name.number));
            }
        }
        pending[first..].sort_by(|a, b| b.0.cmp(&a.0));
        left_out.extend(names.left_out());
        left_out
    }
}
