//! The past of files in an image of UBI with UBIFS.
//!
//! Every node has a sequence number, one higher than the node that was written before it, whatever it is; garbage collection
//! moves nodes without changing it (`fs/ubifs/gc.c`). An inode node without links deletes a file, and its time of change is
//! when. All erase blocks are looked at: UBI may not have erased yet what a LEB stood in before.

use super::scan::{self, leb_data, volumes_of};
use crate::format::Layout;
use crate::lost::history::{Fetch, History, Missing, Name, Past, Piece, Rest, Step};
use ffslab_fs::FileKind;
use ffslab_ubi::probe::Leb;
use ffslab_ubifs::probe::records::{self, Expander, InodeRecord, Record, DATA_BLOCK_BYTES};
use std::collections::{BTreeMap, BTreeSet};

const ROOT_INO: u32 = 1;

/// Something that happened to an inode.
enum Event {
    Inode(InodeRecord),
    Data(Piece),
    Truncation { new_bytes: u64 },
}

/// `None`: there is no volume of UBIFS.
pub fn history<'i>(image: &'i [u8], layout: &'i Layout) -> Option<History<'i>> {
    let (_, data_offset) = layout.ubi_at_bytes?;
    let lebs: Vec<(u32, Leb)> = scan::lebs(image, layout).collect();
    let (id, _) = volumes_of(layout, &lebs, &|block| leb_data(image, layout, data_offset, block)).into_iter().next()?;
    let mut events: BTreeMap<u32, BTreeMap<u64, Event>> = BTreeMap::new();
    let mut there = BTreeSet::new();
    let mut begins = Vec::new();
    let mut names = Vec::new();
    for &(block, Leb { sequence_number, .. }) in lebs.iter().filter(|(_, leb)| leb.volume_id == id) {
        let leb = leb_data(image, layout, data_offset, block);
        let mut begin: Option<Begin> = None;
        ffslab_ubifs::probe::walk(&leb, &mut |offset, _, damage| {
            if damage.is_some() {
                return;
            }
            let node = &leb[offset as usize..];
            let sequence = records::sequence_number(node);
            // Padding has none.
            if sequence == 0 {
                return;
            }
            there.insert(sequence);
            let begin =
                begin.get_or_insert(Begin { mapped: sequence_number, offset, first: sequence, last: 0, ascends: true });
            begin.ascends &= begin.last < sequence;
            begin.last = sequence;
            let (ino, event) = match records::record(node) {
                Record::Inode(inode) => (inode.ino, Event::Inode(inode)),
                Record::Data { ino, block: of_file, .. } => {
                    (ino, Event::Data(piece(of_file, block, data_offset + offset, records::length(node))))
                }
                Record::Truncation { ino, new_bytes } => (ino, Event::Truncation { new_bytes }),
                Record::Entry { parent, ino, kind, name } => {
                    names.extend((ino != 0).then_some(Name { parent, name, ino, kind, sequence }));
                    return;
                }
                Record::Attribute { .. } | Record::AttributeValue { .. } | Record::Other => return,
            };
            events.entry(ino).or_default().insert(sequence, event);
        });
        begins.extend(begin);
    }
    there.extend(references(begins).into_iter().filter(|sequence| *sequence > 0));
    let pasts = events.into_iter().filter(|&(ino, _)| ino != ROOT_INO);
    let pasts = pasts.map(|(ino, events)| past(ino, events)).collect();
    let fetch = fetch(image, layout);
    Some(History { pasts, names, missing: Missing::among(&there), root_ino: ROOT_INO, fetch, notes: Vec::new() })
}

/// How the nodes of a LEB begin.
struct Begin {
    /// UBI's number of the mapping of the LEB to its erase block.
    mapped: u64,
    offset: u32,
    first: u64,
    last: u64,
    ascends: bool,
}

/// The numbers of nodes in the log, which is erased at each commit, by which LEBs became part of the journal: each was
/// written just before the first node of its LEB (`fs/ubifs/log.c`, `ubifs_add_bud_to_log`). In a LEB of garbage collection the
/// first node is older than that: the LEB was mapped after others whose first nodes are younger.
fn references(mut begins: Vec<Begin>) -> Vec<u64> {
    begins.sort_unstable_by_key(|begin| begin.mapped);
    let mut youngest = 0;
    let mut found = Vec::new();
    for begin in begins {
        if begin.ascends && begin.offset == 0 && begin.first > youngest {
            found.push(begin.first - 1);
        }
        youngest = youngest.max(begin.first);
    }
    found
}

fn piece(of_file: u32, block: u32, node_offset: u32, stored_bytes: u32) -> Piece {
    let span_bytes = u64::from(DATA_BLOCK_BYTES);
    Piece { offset: u64::from(of_file) * span_bytes, span_bytes, is_hole: false, block, node_offset, stored_bytes }
}

fn past(ino: u32, events: BTreeMap<u64, Event>) -> Past {
    let inodes =
        || events.values().filter_map(|event| if let Event::Inode(inode) = event { Some(inode) } else { None });
    // Data belong to files only.
    let mut past = Past::new(ino, inodes().next_back().map_or(FileKind::File, |inode| inode.kind));
    if let Some(last) = inodes().rfind(|inode| inode.links > 0).or(inodes().next_back()) {
        (past.permissions, past.uid, past.gid) = (last.permissions, last.uid, last.gid);
        past.target = (past.kind == FileKind::Symlink).then(|| last.data.clone());
    }
    if let Some(end) = inodes().next_back().filter(|inode| inode.links == 0) {
        past.is_ended = inodes().any(|inode| inode.links > 0);
        past.ended_s = Some(end.changed_s);
        past.ended_by_sequence = events.last_key_value().map(|(&sequence, _)| sequence);
    }
    if past.kind != FileKind::File {
        return past;
    }
    let happened: Vec<(&u64, &Event)> =
        events.iter().filter(|(_, event)| !matches!(event, Event::Inode(inode) if inode.links == 0)).collect();
    let mut size_bytes = 0;
    for (at, &(&sequence, event)) in happened.iter().enumerate() {
        let next = happened.get(at + 1).map(|&(&sequence, event)| (sequence, event));
        let mut step = Step { sequence, piece: None, size_bytes: None, rest: Rest::No, modified_s: None };
        match event {
            Event::Inode(inode) => {
                let is_cut = matches!(next, Some((next, Event::Truncation { .. })) if next == sequence + 1)
                    || inode.size_bytes < size_bytes;
                // Pages that were written before a file is cut may come to the flash after that.
                step.rest = if is_cut && inode.size_bytes > 0 { Rest::No } else { Rest::Yes };
                step.modified_s = Some(inode.modified_s);
                size_bytes = inode.size_bytes;
                step.size_bytes = Some(size_bytes);
            }
            Event::Data(piece) => {
                step.piece = Some(*piece);
                // The pages of a file are written back one after the other, in any order, with at most the reference to
                // a new LEB of the journal in between.
                let is_between = next.is_some_and(|(next, _)| next - sequence < 3);
                step.rest = if is_between { Rest::No } else { Rest::IfCalm };
            }
            Event::Truncation { new_bytes } => {
                size_bytes = *new_bytes;
                step.size_bytes = Some(size_bytes);
            }
        }
        past.steps.push(step);
    }
    past
}

fn fetch<'i>(image: &'i [u8], layout: &'i Layout) -> Fetch<'i> {
    let mut expander = Expander::default();
    Box::new(move |piece: &Piece| {
        expander.data_of(&layout.bytes(piece.block, piece.node_offset, piece.stored_bytes, image))
    })
}
