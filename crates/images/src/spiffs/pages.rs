//! The pages of SPIFFS: which are there, of which object each is, and what they hold.

use crate::little_endian::{u16_at, u32_at};
use ffslab_mtd::is_erased;
use std::collections::BTreeMap;

/// Pages and blocks, as somebody has configured them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub page_bytes: usize,
    pub block_bytes: usize,
}

const PAGES_BYTES: [usize; 5] = [256, 128, 512, 1024, 2048];
const BLOCKS_BYTES: [usize; 5] = [4096, 8192, 16384, 32768, 65536];
const BLOCKS_MIN: usize = 3;
/// So much may stand before it, if it has so many blocks, each with its magic number: few words of a text look like some.
const BLOCKS_MIN_BEHIND: usize = 8;
const BEFORE_MAX_BYTES: usize = 1 << 20;
const MAGIC: u32 = 0x2014_0529;
const ID_BYTES: usize = 2;
/// Before the data of a page: object, part of it, flags.
const HEADER_BYTES: usize = 5;
/// In an index header: behind the header of the page and its padding stand size, type and name.
const SIZE_AT: usize = 8;
const TYPE_AT: usize = 12;
const NAME_AT: usize = 13;
const NAME_BYTES: usize = 32;
const TYPE_FILE: u8 = 1;
/// An object's index, not its data.
const INDEX: u16 = 0x8000;
const FREE: u16 = 0xFFFF;
const DELETED: u16 = 0;
/// Bits that are cleared when it becomes so.
const FLAG_USED: u8 = 1;
const FLAG_FINAL: u8 = 2;
const FLAG_INDEX: u8 = 4;
const FLAG_BEING_DELETED: u8 = 0x40;
const FLAG_DELETED: u8 = 0x80;
/// The size of a file that was never closed.
const NO_SIZE: u32 = u32::MAX;

impl Geometry {
    fn all(page_bytes: Option<u32>, block_bytes: Option<u32>) -> impl Iterator<Item = Geometry> {
        let fits = |given: Option<u32>, bytes: usize| given.is_none_or(|given| given as usize == bytes);
        let blocks = BLOCKS_BYTES.into_iter().filter(move |&bytes| fits(block_bytes, bytes));
        blocks.flat_map(move |block_bytes| {
            let pages = PAGES_BYTES.into_iter().filter(move |&bytes| fits(page_bytes, bytes));
            pages.map(move |page_bytes| Geometry { page_bytes, block_bytes })
        })
    }

    /// The sizes with which more than half of the blocks that hold something have the magic number.
    pub fn find(image: &[u8], page_bytes: Option<u32>, block_bytes: Option<u32>) -> Option<Geometry> {
        Geometry::all(page_bytes, block_bytes).find(|geometry| geometry.bytes_of(image).is_some())
    }

    /// Where the first image begins that stands behind something else. Formatting puts a magic number into each of its blocks.
    pub fn behind(image: &[u8]) -> Option<usize> {
        Geometry::all(None, None).find_map(|geometry| {
            let end = image.len().saturating_sub(BLOCKS_MIN * geometry.block_bytes).min(BEFORE_MAX_BYTES);
            (1..end).find(|&at| {
                let left = |block| geometry.left(image, at, block);
                left(0).is_some_and(|count| {
                    let count = usize::from(count);
                    let here = count.min((image.len() - at) / geometry.block_bytes);
                    here >= BLOCKS_MIN_BEHIND && (1..here).all(|block| left(block) == Some((count - block) as u16))
                })
            })
        })
    }

    /// Bytes of the file system at the start of an image, which may end before that or go on behind it, by what its magic numbers say.
    pub fn bytes_of(&self, image: &[u8]) -> Option<usize> {
        let here = image.len().div_ceil(self.block_bytes);
        let is_used = |&block: &usize| {
            let start = block * self.block_bytes;
            !is_erased(&image[start..image.len().min(start + self.block_bytes)])
        };
        let first = (0..here).find(is_used)?;
        let said = self.left(image, 0, first).map(|left| first + usize::from(left));
        let all = [Some(image.len() / self.block_bytes), said];
        let is_so = |&count: &usize| {
            let blocks = 0..count.min(here);
            // With the length of the file system in it, as ESP-IDF has it, or without.
            let has_magic = |&block: &usize| {
                let left = self.left(image, 0, block);
                left == Some((count - block) as u16) || left == Some(0)
            };
            let found = blocks.clone().filter(has_magic).count();
            found >= BLOCKS_MIN && 2 * found > blocks.filter(is_used).count()
        };
        all.into_iter().flatten().find(is_so).map(|count| count * self.block_bytes)
    }

    /// How many blocks there are from this one to the end, by its magic number.
    fn left(&self, image: &[u8], start: usize, block: usize) -> Option<u16> {
        let held = u16_at(image, start + block * self.block_bytes + self.lookup_bytes() - 2 * ID_BYTES)?;
        Some(held ^ (MAGIC ^ self.page_bytes as u32) as u16)
    }

    fn pages(&self) -> usize {
        self.block_bytes / self.page_bytes
    }

    /// The pages at the start of each block in which the objects of all its pages stand.
    fn lookup_bytes(&self) -> usize {
        (self.pages() * ID_BYTES).div_ceil(self.page_bytes) * self.page_bytes
    }
}

/// A file.
#[derive(Default)]
pub struct Object {
    /// `None`: there are pages of it, and no index header.
    pub name: Option<Vec<u8>>,
    pub bytes: u32,
    /// Where its first page stands.
    pub first_at_bytes: usize,
    /// By number of the part, where pages with data stand.
    parts: BTreeMap<u16, usize>,
}

/// What is known of a block.
#[derive(Default)]
pub struct Block {
    pub erases: Option<u16>,
    pub used_count: usize,
}

pub struct Pages<'i> {
    pub image: &'i [u8],
    geometry: Geometry,
    pub objects: BTreeMap<u16, Object>,
    pub blocks: Vec<Block>,
    pub used_count: usize,
    pub deleted_count: usize,
    pub free_count: usize,
}

impl<'i> Pages<'i> {
    pub fn of(image: &'i [u8], geometry: Geometry) -> Pages<'i> {
        let mut pages = Pages {
            image,
            geometry,
            objects: BTreeMap::new(),
            blocks: Vec::new(),
            used_count: 0,
            deleted_count: 0,
            free_count: 0,
        };
        for start in (0..image.len()).step_by(geometry.block_bytes) {
            let block = pages.block(start);
            pages.blocks.push(block);
        }
        // An index header that is not there leaves the name unknown, and pages alone are of no use.
        pages.objects.retain(|_, object| object.name.is_some() || !object.parts.is_empty());
        pages
    }

    fn block(&mut self, start: usize) -> Block {
        let lookup_bytes = self.geometry.lookup_bytes();
        let first = lookup_bytes / self.geometry.page_bytes;
        let erases = u16_at(self.image, start + lookup_bytes - ID_BYTES).filter(|&erases| erases != FREE);
        let mut block = Block { erases, used_count: 0 };
        for page in first..self.geometry.pages() {
            match u16_at(self.image, start + (page - first) * ID_BYTES) {
                Some(FREE) => self.free_count += 1,
                Some(DELETED) => self.deleted_count += 1,
                Some(id) => {
                    block.used_count += 1;
                    self.used_count += 1;
                    self.page(id, start + page * self.geometry.page_bytes);
                }
                None => {}
            }
        }
        block
    }

    /// Enters a page that is of this object by the look-up page.
    fn page(&mut self, id: u16, at: usize) {
        let Some(page) = self.image.get(at..at + self.geometry.page_bytes) else { return };
        let (part, flags) = (u16_at(page, ID_BYTES).unwrap_or_default(), page[2 * ID_BYTES]);
        let is = |flag: u8| flags & flag == 0;
        if u16_at(page, 0) != Some(id) || !is(FLAG_USED) || !is(FLAG_FINAL) || is(FLAG_DELETED) {
            return;
        }
        if id & INDEX == 0 {
            let object = self.object(id, at);
            // Of two the one that stands first: the other is what a cut has left.
            object.parts.entry(part).or_insert(at);
            return;
        }
        let is_header = part == 0 && is(FLAG_INDEX) && !is(FLAG_BEING_DELETED) && page[TYPE_AT] == TYPE_FILE;
        if is_header {
            let bytes = u32_at(page, SIZE_AT).filter(|&bytes| bytes != NO_SIZE).unwrap_or(0);
            let name = &page[NAME_AT..NAME_AT + NAME_BYTES];
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
            let object = self.object(id & !INDEX, at);
            object.name = Some(name[..end].to_vec());
            object.bytes = bytes;
        }
    }

    fn object(&mut self, id: u16, at: usize) -> &mut Object {
        self.objects.entry(id).or_insert_with(|| Object { first_at_bytes: at, ..Object::default() })
    }

    /// The content of a file.
    ///
    /// Errors: what of it is missing.
    pub fn content(&self, object: &Object) -> Result<Vec<u8>, String> {
        let part_bytes = self.geometry.page_bytes - HEADER_BYTES;
        let all = object.bytes as usize;
        if all > self.image.len() {
            return Err(format!("a file of {all} B, more than the image has"));
        }
        let mut data = Vec::with_capacity(all);
        while data.len() < all {
            let part = data.len() / part_bytes;
            let at = u16::try_from(part).ok().and_then(|part| object.parts.get(&part));
            let at = at.ok_or_else(|| format!("at offset {}: the page with it is missing", data.len()))?;
            let count = part_bytes.min(all - data.len());
            data.extend_from_slice(&self.image[at + HEADER_BYTES..at + HEADER_BYTES + count]);
        }
        Ok(data)
    }
}
