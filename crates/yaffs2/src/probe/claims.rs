//! What the tags of all pages claim, compared with one another: where tags have no ECC, a flipped bit in them shows in this alone.
//!
//! A file system writes no data without a header, no header below a directory that is none, and no page far behind the end of a
//! file (a hole gets a header first, `yaffs_guts.c`, `yaffs_handle_hole`). A page that would suit a hole if one bit of its tags
//! were another is doubted only if something stands in its place already, or its place is none.

use super::{Layout, PageKind};
use crate::header::Header;
use crate::objects::{DELETED_ID, ROOT_ID, UNLINKED_ID};
use crate::scan::SEQUENCE_LOWEST;
use crate::tags::Kind;
use std::collections::BTreeMap;

/// Root, lost+found, and the directories of what was unlinked and deleted need no header.
const OWN_OBJECTS: std::ops::RangeInclusive<u32> = ROOT_ID..=DELETED_ID;

/// That of all blocks of an image of `mkyaffs2image`; the file system begins with the next one (`yaffs_allocator.c`).
const SEQUENCE_OF_MAKERS: u32 = SEQUENCE_LOWEST;

/// The pages of an object.
#[derive(Default)]
struct Object {
    /// Sequence number, place and content of the newest.
    header: Option<((u32, u64), Header)>,
    /// Places of headers that were written on a computer, each object once.
    made: Vec<u64>,
    /// Of each chunk the sequence numbers, places and counts of bytes, in the order of the image.
    chunks: BTreeMap<u32, Vec<(u32, u64, u32)>>,
}

/// What was read so far.
#[derive(Default)]
pub struct Claims(BTreeMap<u32, Object>);

impl Claims {
    /// Takes a page that stands at `offset` in the image.
    pub fn take(&mut self, layout: &Layout, page: &[u8], offset: u64) {
        let Some(tags) = layout.look(page) else { return };
        match tags.kind {
            PageKind::Header => {
                let order = (tags.sequence, offset);
                let Some(header) = layout.header(page) else { return };
                let object = self.0.entry(tags.object).or_default();
                if tags.sequence == SEQUENCE_OF_MAKERS {
                    object.made.push(offset);
                }
                let newest = &mut object.header;
                if newest.as_ref().is_none_or(|(before, _)| *before < order) {
                    *newest = Some((order, header));
                }
            }
            PageKind::Data => {
                let chunks = &mut self.0.entry(tags.object).or_default().chunks;
                chunks.entry(tags.chunk).or_default().push((tags.sequence, offset, tags.count_bytes));
            }
            _ => {}
        }
    }

    /// The pages whose tags cannot be right, or are likely not: where they stand in the image, and why.
    pub fn doubts(&self, layout: &Layout) -> Vec<(u64, &'static str)> {
        let mut found = Vec::new();
        for (&number, object) in &self.0 {
            match &object.header {
                None => found.extend(object.places().map(|at| (at, "data of an object that has no header"))),
                Some((order, header)) => self.of_object(layout, number, object, (*order, header), &mut found),
            }
        }
        found.sort_unstable();
        found.dedup_by_key(|(at, _)| *at);
        found
    }

    fn of_object(
        &self,
        layout: &Layout,
        number: u32,
        object: &Object,
        (order, header): ((u32, u64), &Header),
        found: &mut Vec<(u64, &'static str)>,
    ) {
        if let [_, again @ ..] = object.made.as_slice() {
            found.extend(again.iter().map(|&at| (at, "a second header of an object in an image that has each once")));
        }
        if !self.is_directory(header.parent) {
            found.push((order.1, "a header below a directory that is not there"));
        }
        if OWN_OBJECTS.contains(&number) && header.kind != Kind::Directory {
            found.push((order.1, "a header of a directory that every image has, and it is none"));
        }
        if header.kind == Kind::HardLink && !self.0.contains_key(&header.equivalent) {
            found.push((order.1, "a hard link to an object that is not there"));
        }
        if header.kind != Kind::File {
            found.extend(object.places().map(|at| (at, "data of an object that is no file")));
            return;
        }
        // Its size is not in the header any more.
        if is_gone(header) {
            return;
        }
        let chunk_bytes = u64::from(layout.chunk_bytes());
        let last = header.file_bytes.div_ceil(chunk_bytes);
        for (&chunk, pages) in &object.chunks {
            let newest = pages.iter().map(|&(sequence, at, count)| ((sequence, at), count)).max();
            let Some(((sequence, at), count)) = newest else { continue };
            let is_newer = (sequence, at) > order;
            let is_behind = is_newer && u64::from(chunk) > last;
            if is_behind && u64::from(chunk) > last + 1 && !object.chunks.contains_key(&(chunk - 1)) {
                found.push((at, "data far behind the end of their file"));
            }
            let held = header.file_bytes.saturating_sub(u64::from(chunk - 1) * chunk_bytes) as u32;
            if is_newer && u64::from(chunk) == last && (held ^ count).is_power_of_two() {
                found.push((at, "data that are longer or shorter than their file by one bit of the number"));
            }
            if (pages.len() > 1 || is_behind) && self.suits_a_hole(layout, number, chunk) {
                let places = pages.iter().map(|&(_, at, _)| at);
                found.extend(places.map(|at| (at, "data that one bit of their tags would move into a hole of a file")));
            }
        }
    }

    fn is_directory(&self, number: u32) -> bool {
        let header = self.0.get(&number).and_then(|object| object.header.as_ref());
        OWN_OBJECTS.contains(&number) || header.is_some_and(|(_, header)| header.kind == Kind::Directory)
    }

    /// Whether a page of this number is missing where one bit of the tags is another.
    fn suits_a_hole(&self, layout: &Layout, number: u32, chunk: u32) -> bool {
        let bits = || (0..u32::BITS).map(|bit| 1 << bit);
        let is_hole = |(number, chunk): (u32, u32)| {
            let object = self.0.get(&number);
            let header = object.and_then(|object| object.header.as_ref().map(|(_, header)| header));
            let Some((object, header)) = object.zip(header) else { return false };
            let last = header.file_bytes.div_ceil(u64::from(layout.chunk_bytes()));
            header.kind == Kind::File
                && !is_gone(header)
                && chunk > 0
                && u64::from(chunk) <= last
                && !object.chunks.contains_key(&chunk)
        };
        bits().map(|bit| (number ^ bit, chunk)).chain(bits().map(|bit| (number, chunk ^ bit))).any(is_hole)
    }
}

fn is_gone(header: &Header) -> bool {
    matches!(header.parent, DELETED_ID | UNLINKED_ID)
}

impl Object {
    fn places(&self) -> impl Iterator<Item = u64> + '_ {
        self.chunks.values().flatten().map(|&(_, at, _)| at)
    }
}
