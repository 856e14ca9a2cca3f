//! Images of EROFS, read as they stand.
//!
//! **Follows.** `fs/erofs/erofs_fs.h` of Linux 6.1 for what stands in them, and the crate `erofs` for what it means.
//!
//! **Leaves out.** Extended attributes. What a Linux 6.1 without lzma would not mount: it is named.

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::scan::Scanned;
use crate::tree::room::Room;
use crate::tree::{Content as Wanted, CutOff, Tree, TreeEntry, TreeError};
use crate::walk::{self, Inodes};
use ffslab_erofs::inode::{self, Inode};
use ffslab_erofs::{content, names, Content, Superblock, BLOCK_BYTES, MAGIC, SUPERBLOCK_AT};
use ffslab_fs::FileKind;
use ffslab_rawblock::Wrong;
use std::ops::Range;

/// How they are recognised, read and explained.
pub struct InImages;

/// For the picture of the space: areas of so many bytes, at most so many of them.
const AREA_BYTES_MIN: u32 = 128 << 10;
const AREAS_MAX: usize = 1024;
const SECTOR_BYTES: u32 = 512;
const UNCHECKED: &str = "EROFS has a check sum over its superblock alone: most changed bits of a file do not show";

/// The files of one that begins at the start of `image`. `None`: there is none, or one that is not read.
pub fn files(image: &[u8], wanted: Wanted) -> Option<Tree> {
    let superblock = Superblock::of(image)?;
    let inodes = InImage { from: Content::of(image, superblock), wanted };
    Some(walk::tree(inodes, superblock.root_number, image.len()))
}

/// Where in an image the first superblock stands, whatever its check sum says: that is over bytes of the next page, too.
pub fn first(image: &[u8]) -> Option<usize> {
    magics(image).find(|&at| {
        Superblock::read(&image[at..]).is_some_and(|read| read.is_ok() || Superblock::is_usual(&image[at..]))
    })
}

/// Whether the root of the one that begins there can be read.
pub fn is_readable(image: &[u8]) -> bool {
    let root = |superblock: Superblock| inode::read(&mut Content::of(image, superblock), superblock.root_number);
    Superblock::of(image).is_some_and(|superblock| root(superblock).is_ok())
}

fn starts(image: &[u8]) -> impl Iterator<Item = usize> + '_ {
    magics(image).filter(|&at| Superblock::of(&image[at..]).is_some())
}

fn magics(image: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let magic = MAGIC.to_le_bytes();
    let magics = image.windows(magic.len()).enumerate().skip(SUPERBLOCK_AT).filter(move |(_, here)| *here == magic);
    magics.map(|(at, _)| at - SUPERBLOCK_AT)
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
        if layout.is_some() {
            return None;
        }
        self.places(image).first().map(|place| place.start).filter(|&first| first > 0)
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

struct InImage<'i> {
    from: Content<'i>,
    wanted: Wanted,
}

impl InImage<'_> {
    fn content_of(&mut self, inode: &Inode, room: &mut Room) -> Result<Vec<u8>, String> {
        walk::take_room(room, inode.bytes)?;
        content(&mut self.from, inode).map_err(|wrong| wrong.to_string())
    }
}

impl Inodes for InImage<'_> {
    type Place = u64;
    type Directory = Inode;
    type Held = Vec<u8>;

    fn read(&mut self, number: u64, entry: &mut TreeEntry, room: &mut Room) -> Option<Inode> {
        let inode = match inode::read(&mut self.from, number) {
            Ok(inode) => inode,
            Err(wrong) => {
                entry.error = Some(format!("its inode cannot be read: {wrong}"));
                return None;
            }
        };
        entry.kind = inode.kind;
        (entry.permissions, entry.links) = (inode.permissions, inode.links);
        (entry.uid, entry.gid) = (inode.uid, inode.gid);
        entry.modified_s = inode.modified_s as i64;
        entry.device = inode.device;
        if inode.kind == FileKind::Directory {
            return Some(inode);
        }
        if matches!(inode.kind, FileKind::File | FileKind::Symlink) {
            entry.size_bytes = inode.bytes;
            match self.content_of(&inode, room) {
                Ok(data) if self.wanted == Wanted::Keep || inode.kind == FileKind::Symlink => entry.data = data,
                Ok(_) => {}
                Err(why) => entry.error = Some(why),
            }
        }
        None
    }

    fn hold(&mut self, inode: Inode, room: &mut Room) -> Result<Vec<u8>, String> {
        self.content_of(&inode, room)
    }

    fn names(&mut self, held: Vec<u8>, name: &mut dyn FnMut(&[u8], u64) -> bool) -> Vec<String> {
        let mut damaged = Vec::new();
        for block in held.chunks(BLOCK_BYTES as usize) {
            match names(block) {
                Ok(found) => {
                    let mut found = found.into_iter().filter(|found| found.name != b"." && found.name != b"..");
                    if !found.all(|found| name(&found.name, found.number)) {
                        break;
                    }
                }
                Err(Wrong { what, .. }) => damaged.push(what),
            }
        }
        damaged
    }
}
