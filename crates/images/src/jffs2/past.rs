//! The past of files in an image of JFFS2.
//!
//! Each inode node has a version, one higher than the node before it of the same inode, and the size of the file at that time
//! (`fs/jffs2/write.c`); garbage collection gives what it moves a new version, or copies it unchanged (`fs/jffs2/gc.c`). Entries of
//! a directory count with its own versions, and one without an inode deletes a name.

use crate::format::Layout;
use crate::lost::history::{Fetch, History, Missing, Name, Past, Piece, Rest, Step};
use ffslab_fs::{FileKind, PAGE_BYTES};
use ffslab_jffs2::probe::nodes::{self, Found};
use ffslab_jffs2::{Endian, RawDirent, RawInode};
use std::collections::{BTreeMap, BTreeSet};

const ROOT_INO: u32 = 1;
const ZEROS: u8 = 1;
/// A node without its data.
const INODE_BYTES: u32 = 68;

/// What a program writes at once is written one node after the other. So the last node of an erase block may be in the
/// middle of it, unless there was room for another: for a page, and for the summary of the block.
const ROOM_BYTES: u32 = 2 * PAGE_BYTES as u32 + INODE_BYTES;

/// An inode node and where it stands.
struct Node {
    raw: RawInode,
    block: u32,
    offset: u32,
    /// What was written with it may have gone on in another block.
    may_go_on: bool,
}

#[derive(Default)]
struct Nodes {
    inodes: BTreeMap<u32, Vec<Node>>,
    dirents: Vec<(RawDirent, Vec<u8>)>,
    marks_obsolete: bool,
}

pub fn history<'i>(image: &'i [u8], layout: &'i Layout) -> History<'i> {
    let endian = layout.endian.unwrap_or_default();
    let found = collect(endian, image, layout);
    let ends = ends(&found.dirents);
    let fetch = fetch(endian, image, layout);
    let pasts = found.inodes.into_iter().filter(|&(ino, _)| ino != 0 && ino != ROOT_INO);
    let pasts = pasts.filter_map(|(ino, nodes)| {
        let past = past(ino, nodes, found.marks_obsolete, endian, image, layout)?;
        Some(Past { ended_s: ends.get(&ino).copied().flatten(), ..past })
    });
    let pasts = pasts.collect();
    let name = |(raw, name): (RawDirent, Vec<u8>)| Name {
        parent: raw.parent,
        name,
        ino: raw.ino,
        kind: raw.kind(),
        // Versions count in one directory only; a name moves to another one later.
        sequence: u64::from(raw.changed_s) << 32 | u64::from(raw.version),
    };
    let names = found.dirents.into_iter().filter(|(raw, _)| raw.ino != 0).map(name).collect();
    History { pasts, names, missing: Missing::default(), root_ino: ROOT_INO, fetch, notes: Vec::new() }
}

fn collect(endian: Endian, image: &[u8], layout: &Layout) -> Nodes {
    let mut found = Nodes::default();
    for block in 0..layout.blocks {
        let data = layout.data(block, image);
        let mut last = None;
        nodes::walk(endian, &data, &mut |place| {
            found.marks_obsolete |= place.is_obsolete;
            let node = &data[place.offset as usize..];
            match place.found {
                Found::Inode { ino, .. } => {
                    let raw = nodes::inode(endian, node);
                    let node = raw.map(|raw| Node { raw, block, offset: place.offset, may_go_on: false });
                    found.inodes.entry(ino).or_default().extend(node);
                    last = Some((ino, place.offset + place.total_bytes));
                }
                Found::Dirent { .. } => {
                    last = None;
                    if let Some((raw, Some(name))) = nodes::dirent(endian, node) {
                        found.dirents.push((raw, name.to_vec()));
                    }
                }
                _ => {}
            }
        });
        let at_end = last.filter(|&(_, end)| end + ROOM_BYTES > layout.block_bytes);
        if let Some(node) = at_end.and_then(|(ino, _)| found.inodes.get_mut(&ino)?.last_mut()) {
            node.may_go_on = true;
        }
    }
    found
}

/// When the last name of each inode was taken from it, by the next entry of that name.
fn ends(dirents: &[(RawDirent, Vec<u8>)]) -> BTreeMap<u32, Option<i64>> {
    let mut by_name: BTreeMap<(u32, &[u8]), BTreeMap<u32, &RawDirent>> = BTreeMap::new();
    let mut last: BTreeMap<u32, (&RawDirent, &[u8])> = BTreeMap::new();
    for (raw, name) in dirents {
        by_name.entry((raw.parent, name)).or_default().insert(raw.version, raw);
        let kept = last.entry(raw.ino).or_insert((raw, name));
        if (raw.changed_s, raw.version) >= (kept.0.changed_s, kept.0.version) {
            *kept = (raw, name);
        }
    }
    let end = |(&ino, &(raw, name)): (&u32, &(&RawDirent, &[u8]))| {
        let later = by_name.get(&(raw.parent, name))?.range(raw.version + 1..).map(|(_, raw)| raw);
        let ended = later.filter(|raw| raw.ino != ino).map(|raw| i64::from(raw.changed_s)).next();
        Some((ino, ended))
    };
    last.iter().filter_map(end).collect()
}

/// `None`: what kind of file it was is not known.
fn past(
    ino: u32,
    mut nodes: Vec<Node>,
    marks_obsolete: bool,
    endian: Endian,
    image: &[u8],
    layout: &Layout,
) -> Option<Past> {
    nodes.sort_by_key(|node| node.raw.version);
    let last = nodes.last()?.raw;
    let kind = FileKind::from_mode(last.mode)?;
    let mut past = Past::new(ino, kind);
    (past.permissions, past.uid, past.gid) = (last.mode & 0o7777, u32::from(last.uid), u32::from(last.gid));
    if kind == FileKind::Symlink {
        let node = nodes.last()?;
        let bytes = layout.bytes(node.block, node.offset, node.raw.total_bytes(), image);
        past.target = nodes::data_of(endian, &bytes, layout.block_bytes);
    }
    let mut kept = one_of_each(nodes, marks_obsolete);
    let missing = Missing::among(&kept.iter().map(|node| u64::from(node.raw.version)).collect::<BTreeSet<_>>());
    for node in &mut kept {
        node.may_go_on |= ends_a_page(&node.raw) && missing.last_before(u64::from(node.raw.version)) > 0;
    }
    past.missing = Some(missing);
    past.gaps_are_zeros = true;
    for (at, node) in kept.iter().enumerate() {
        past.steps.push(step(node, kept.get(at + 1).map(|next| &next.raw), kind));
    }
    Some(past)
}

/// Garbage collection copies the nodes of a write one by one, and what is deleted meanwhile is not copied any more: its block is
/// erased, and what stands behind a copy was written with something else. Where versions of a file are missing, blocks with nodes of
/// it were erased, so a node may be such a copy. Of a write that goes on it ends where a page does (`jffs2_write_inode_range`).
fn ends_a_page(raw: &RawInode) -> bool {
    let bytes = u64::from(raw.covered_bytes());
    bytes > 0 && (u64::from(raw.offset) + bytes).is_multiple_of(PAGE_BYTES as u64)
}

/// One node of each version. Copies of garbage collection are equal; where nodes of one version differ, none is certain.
/// A medium on which superseded nodes are marked may get an inode's number again while old nodes are there: there the
/// times tell one inode from the next.
fn one_of_each(nodes: Vec<Node>, marks_obsolete: bool) -> Vec<Node> {
    let mut kept: Vec<Node> = Vec::new();
    let mut wrong = None;
    for node in nodes {
        let same = kept.last().filter(|last| last.raw.version == node.raw.version);
        let is_copy = same.is_some_and(|last| content_of(&last.raw) == content_of(&node.raw));
        if is_copy || wrong == Some(node.raw.version) {
            continue;
        }
        if same.is_some() {
            wrong = Some(node.raw.version);
            kept.pop();
            continue;
        }
        if marks_obsolete && kept.last().is_some_and(|last| last.raw.changed_s > node.raw.changed_s) {
            kept.clear();
        }
        kept.push(node);
    }
    kept
}

fn content_of(raw: &RawInode) -> (u32, u32, u32, u32, u32) {
    (raw.offset, raw.data_bytes, raw.compressed_bytes, raw.data_crc, raw.file_bytes)
}

fn step(node: &Node, next: Option<&RawInode>, kind: FileKind) -> Step {
    let raw = &node.raw;
    let bytes = raw.covered_bytes();
    // A hole that garbage collection has moved keeps its version and yet has the size of a later time.
    let end = u64::from(raw.offset) + u64::from(bytes);
    let is_sure = raw.compression != ZEROS || end == u64::from(raw.file_bytes);
    // A write of several pages is as many nodes. What stood when the clock went on, or when the file was cut, was a state;
    // and so was the last.
    let stood = match next {
        Some(next) if next.version == raw.version + 1 => {
            next.changed_s > raw.changed_s || next.file_bytes < raw.file_bytes
        }
        _ => !node.may_go_on,
    };
    let is_file = kind == FileKind::File;
    let piece = Piece {
        offset: u64::from(raw.offset),
        span_bytes: u64::from(bytes),
        is_hole: raw.compression == ZEROS,
        block: node.block,
        node_offset: node.offset,
        stored_bytes: raw.total_bytes(),
    };
    Step {
        sequence: u64::from(raw.version),
        piece: (is_file && bytes > 0).then_some(piece),
        size_bytes: (is_file && is_sure).then_some(u64::from(raw.file_bytes)),
        rest: if is_sure && stood { Rest::Yes } else { Rest::No },
        modified_s: Some(i64::from(raw.modified_s)),
    }
}

fn fetch<'i>(endian: Endian, image: &'i [u8], layout: &'i Layout) -> Fetch<'i> {
    Box::new(move |piece: &Piece| {
        let node = layout.bytes(piece.block, piece.node_offset, piece.stored_bytes, image);
        nodes::data_of(endian, &node, layout.block_bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(version: u32, changed_s: u32, data_crc: u32) -> Node {
        let raw = RawInode { ino: 5, version, changed_s, data_crc, ..RawInode::default() };
        Node { raw, block: 0, offset: 0, may_go_on: false }
    }

    fn kept(nodes: Vec<Node>, marks_obsolete: bool) -> Vec<u32> {
        one_of_each(nodes, marks_obsolete).iter().map(|node| node.raw.version).collect()
    }

    #[test]
    fn of_nodes_of_one_version_that_differ_none_is_taken() {
        let nodes = || vec![node(1, 9, 1), node(2, 9, 2), node(2, 9, 2), node(3, 9, 3), node(3, 9, 4), node(3, 9, 3)];
        assert_eq!(kept(nodes(), false), [1, 2]);
    }

    #[test]
    fn a_last_node_that_may_be_a_copy_of_a_write_that_went_on_is_no_state() {
        let fs = crate::ImageFs::new("jffs2", "JFFS2", Some(&crate::jffs2::InImages));
        let layout = Layout::new(fs, 2048, 0, 131_072, &[]);
        let stood = |versions: &[u32], data_bytes: u32| {
            let nodes = versions.iter().map(|&version| Node {
                raw: RawInode { version, data_bytes, file_bytes: data_bytes, mode: 0o100_644, ..node(1, 9, 1).raw },
                ..node(1, 9, 1)
            });
            let past = past(5, nodes.collect(), false, Endian::default(), &[], &layout).unwrap();
            past.steps.last().unwrap().rest == Rest::Yes
        };
        // Version 1 is missing: its block was erased, and version 2 may have been copied before.
        assert!(!stood(&[2], 4096) && stood(&[2], 4095) && stood(&[1, 2], 4096));
    }

    #[test]
    fn where_numbers_are_given_again_the_nodes_of_one_inode_are_not_mixed() {
        let nodes = || vec![node(1, 20, 1), node(2, 20, 2), node(3, 9, 3), node(4, 9, 4)];
        assert_eq!(kept(nodes(), true), [3, 4]);
        // Elsewhere a clock was set back.
        assert_eq!(kept(nodes(), false), [1, 2, 3, 4]);
    }
}
