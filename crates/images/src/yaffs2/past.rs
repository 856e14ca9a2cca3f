//! The past of files in an image of YAFFS2.
//!
//! Order is that of the erase blocks' sequence numbers, then of the pages. An object is moved into one of two directories
//! that programs cannot see when it is deleted, by a header (`yaffs_guts.c`, `yaffs_unlink_worker`); its number may be given to
//! another object later. Data have no check sums: what is found is what the pages hold.

use crate::format::Layout;
use crate::lost::history::{Fetch, History, Missing, Name, Past, Piece, Rest, Step};
use ffslab_fs::FileKind;
use ffslab_yaffs2::probe::{self, PageKind, PageTags};
use ffslab_yaffs2::{Header, DELETED_ID, ROOT_ID, UNLINKED_ID};
use std::collections::{BTreeMap, BTreeSet};

/// Objects with lower numbers are the file system's own.
const FIRST_ID: u32 = 5;

/// A header or data page of an object.
struct Page {
    sequence: u64,
    tags: PageTags,
    header: Option<Header>,
    block: u32,
    offset: u32,
}

pub fn history<'i>(image: &'i [u8], layout: &'i Layout, pages: probe::Layout) -> History<'i> {
    let mut objects: BTreeMap<u32, Vec<Page>> = BTreeMap::new();
    let mut there = BTreeSet::new();
    for (slot, block) in in_order(image, layout, &pages) {
        let first = slot * u64::from(layout.pages_per_block()) + 1;
        for (index, page) in image[layout.place(block, image)].chunks(layout.stride_bytes()).enumerate() {
            let sequence = first + index as u64;
            let looked = pages.look(page);
            if matches!(looked, Some(PageTags { kind: PageKind::Damage(_), .. })) {
                continue;
            }
            there.insert(sequence);
            let Some(tags) = looked.filter(|tags| matches!(tags.kind, PageKind::Header | PageKind::Data)) else {
                continue;
            };
            let header = (tags.kind == PageKind::Header).then(|| pages.header(page)).flatten();
            let offset = index as u32 * layout.page_bytes;
            objects.entry(tags.object).or_default().push(Page { sequence, tags, header, block, offset });
        }
    }
    let mut names = Vec::new();
    let mut pasts = Vec::new();
    for (id, pages_of) in objects.into_iter().filter(|&(id, _)| id >= FIRST_ID) {
        names.extend(pages_of.iter().filter_map(|page| name_of(id, page)));
        for life in lives(pages_of) {
            pasts.extend(past(id, &life, &pages));
        }
    }
    let notes = vec!["YAFFS2 has no check sums of data, and no times of deletions".to_string()];
    let fetch = fetch(image, layout);
    History { pasts, names, missing: Missing::among(&there), root_ino: ROOT_ID, fetch, notes }
}

/// The written blocks by age, each with its place in a count that leaves one out wherever sequence numbers are missing.
fn in_order(image: &[u8], layout: &Layout, pages: &probe::Layout) -> Vec<(u64, u32)> {
    let sequence_of = |block: u32| {
        let mut stored = image[layout.place(block, image)].chunks(layout.stride_bytes());
        let tags = stored.find_map(|page| pages.look(page).filter(|tags| !matches!(tags.kind, PageKind::Damage(_))))?;
        PageTags::SEQUENCES.contains(&tags.sequence).then_some((tags.sequence, block))
    };
    let mut blocks: Vec<(u32, u32)> = (0..layout.blocks).filter_map(sequence_of).collect();
    blocks.sort_unstable();
    let mut slot = 0;
    let mut before = 0;
    let place = |(sequence, block): (u32, u32)| {
        // Blocks of an image that was made on a computer share a number.
        slot += if sequence > before + 1 { 2 } else { 1 };
        before = sequence;
        (slot, block)
    };
    blocks.into_iter().map(place).collect()
}

fn is_gone(header: &Header) -> bool {
    matches!(header.parent, DELETED_ID | UNLINKED_ID)
}

fn name_of(id: u32, page: &Page) -> Option<Name> {
    let header = page.header.as_ref().filter(|header| !is_gone(header))?;
    let is_link = kind_of(header).is_none();
    Some(Name {
        parent: header.parent,
        name: header.name.clone(),
        kind: kind_of(header).unwrap_or(FileKind::File),
        ino: if is_link { header.equivalent } else { id },
        // A name of its own before one of a hard link.
        sequence: if is_link { 0 } else { page.sequence },
    })
}

/// `None`: a hard link, or a kind that is not known.
fn kind_of(header: &Header) -> Option<FileKind> {
    let kind = FileKind::from_mode(header.attributes.mode);
    (header.is_object()).then_some(kind).flatten()
}

/// The pages of the objects that had a number one after the other: each ends with the headers that delete it.
fn lives(pages: Vec<Page>) -> Vec<Vec<Page>> {
    let mut lives: Vec<Vec<Page>> = Vec::new();
    let mut life = Vec::new();
    let mut was_gone = false;
    for page in pages {
        let gone = page.header.as_ref().map_or(was_gone, is_gone);
        if was_gone && !gone {
            lives.push(std::mem::take(&mut life));
        }
        // Data behind the deletion were moved by garbage collection.
        if !was_gone || page.header.is_some() {
            life.push(page);
        }
        was_gone = gone;
    }
    lives.push(life);
    lives
}

fn past(id: u32, life: &[Page], pages: &probe::Layout) -> Option<Past> {
    let mut headers = life.iter().filter_map(|page| page.header.as_ref());
    let last = headers.clone().rfind(|header| !is_gone(header)).or(headers.next())?;
    let mut past = Past::new(id, kind_of(last)?);
    let attributes = &last.attributes;
    (past.permissions, past.uid, past.gid) = (attributes.mode & 0o7777, attributes.uid, attributes.gid);
    past.target = (past.kind == FileKind::Symlink).then(|| last.alias.clone());
    let end = life.iter().find(|page| page.header.as_ref().is_some_and(is_gone));
    (past.is_ended, past.ended_by_sequence) = (end.is_some(), end.map(|page| page.sequence));
    let is_file = past.kind == FileKind::File;
    let mut before: Option<&Header> = None;
    for page in life {
        match &page.header {
            Some(header) if is_gone(header) => break,
            Some(header) => {
                past.steps.push(Step {
                    sequence: page.sequence,
                    piece: None,
                    size_bytes: is_file.then_some(header.file_bytes),
                    rest: rest_at(header, before),
                    modified_s: Some(i64::from(header.attributes.modified_s)),
                });
                before = Some(header);
            }
            None if is_file => past.steps.extend(data_step(page, pages)),
            None => {}
        }
    }
    // A file is emptied before it is deleted, and what it held then is what was deleted.
    let is_emptying = |step: &Step| step.piece.is_none() && step.size_bytes == Some(0);
    while past.is_ended && past.steps.len() > 1 && past.steps.last().is_some_and(is_emptying) {
        past.steps.pop();
    }
    Some(past)
}

/// Whether the chunks on the flash make up a state of the file when a header is written: a flush writes what waits in memory,
/// and then the header with a new time or size.
fn rest_at(header: &Header, before: Option<&Header>) -> Rest {
    // A gap is announced before the data behind it are written.
    if header.is_shrink && header.file_bytes > 0 {
        return Rest::No;
    }
    let Some(before) = before else {
        // A copy of garbage collection may be made at any time, with the size of that time.
        return if header.file_bytes == 0 { Rest::Yes } else { Rest::IfLast };
    };
    let identity =
        |header: &Header| (header.parent, header.name.clone(), header.attributes.mode, header.attributes.uid);
    let times = |header: &Header| (header.attributes.modified_s, header.file_bytes);
    if identity(header) == identity(before) && times(header) != times(before) {
        Rest::Yes
    } else {
        Rest::No
    }
}

fn data_step(page: &Page, pages: &probe::Layout) -> Option<Step> {
    let chunk_bytes = u64::from(pages.chunk_bytes());
    let piece = Piece {
        offset: u64::from(page.tags.chunk.checked_sub(1)?) * chunk_bytes,
        span_bytes: chunk_bytes,
        is_hole: false,
        block: page.block,
        node_offset: page.offset,
        stored_bytes: page.tags.count_bytes.min(pages.chunk_bytes()),
    };
    // In an image that was made on a computer the data of a file follow its only header.
    let is_made = page.tags.sequence == PageTags::SEQUENCES.start;
    let rest = if is_made { Rest::IfCalm } else { Rest::No };
    Some(Step { sequence: page.sequence, piece: Some(piece), size_bytes: None, rest, modified_s: None })
}

fn fetch<'i>(image: &'i [u8], layout: &'i Layout) -> Fetch<'i> {
    Box::new(move |piece: &Piece| {
        let bytes = layout.bytes(piece.block, piece.node_offset, piece.stored_bytes, image);
        (bytes.len() == piece.stored_bytes as usize).then_some(bytes)
    })
}
