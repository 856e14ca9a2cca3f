//! Extended attributes at the mount: what the scan finds, and how data, references and inodes come together.
//!
//! Follows `fs/jffs2/scan.c` (`jffs2_scan_xattr_node`, `jffs2_scan_xref_node`), `summary.c` (`jffs2_sum_process_sum_data`)
//! and `xattr.c` (`jffs2_setup_xattr_datum`, `verify_xattr_ref`, `jffs2_build_xattr_subsystem`).

use ffslab_fs::Result;
use ffslab_sim::Work;
use rustc_hash::FxHashMap;

use crate::flash::Flash;
use crate::format::{RawXattr, RawXref, XREF_BYTES};
use crate::refs::{NodeState, RefId, XattrOwner, NONE};
use crate::space::Space;
use crate::xattr_table::{Datum, Reference, LISTS};

/// Number of lists in which references for the same inode and datum are looked for (`XREF_TMPHASH_SIZE`).
const MERGE_LISTS: usize = 128;

/// What the scan finds of extended attributes.
#[derive(Default)]
pub struct FoundXattrs {
    by_xid: FxHashMap<u32, u32>,
    /// Numbers of data in the order in which they were found.
    data: Vec<(u32, u32)>,
    /// Numbers of references in that order.
    references: Vec<u32>,
}

impl FoundXattrs {
    /// Adds a node with an attribute, whose header is `raw` unless only a summary has announced it.
    pub fn add_datum(&mut self, space: &mut Space, node: RefId, xid: u32, version: u32, raw: Option<&RawXattr>) {
        let table = &mut space.xattrs;
        let data = &mut self.data;
        let id = *self.by_xid.entry(xid).or_insert_with(|| {
            table.highest_xid = table.highest_xid.max(xid);
            let id = table.data.add(Datum::new(RawXattr { xid, version, ..RawXattr::default() }));
            data.push((xid, id));
            id
        });
        let Some(datum) = table.data.get_mut(id) else { return };
        if datum.header.version > version {
            return table.chain_second(&mut space.refs, node, XattrOwner::Datum(id));
        }
        match raw {
            Some(raw) => datum.header = *raw,
            None => datum.header.version = version,
        }
        table.chain(&mut space.refs, node, XattrOwner::Datum(id));
    }

    /// Adds a node with a reference; as for [`FoundXattrs::add_datum`].
    pub fn add_reference(&mut self, space: &mut Space, node: RefId, raw: Option<&RawXref>) {
        let raw = raw.copied().unwrap_or_default();
        let table = &mut space.xattrs;
        table.note_sequence(raw.sequence);
        let reference = Reference { node: NONE, ino: raw.ino, xid: raw.xid, datum: NONE, sequence: raw.sequence };
        let id = table.references.add(reference);
        self.references.push(id);
        table.chain(&mut space.refs, node, XattrOwner::Reference(id));
    }

    /// Brings data, references and inodes together, once the links of all inodes are known.
    pub fn build(self, space: &mut Space, flash: &Flash) -> Result<()> {
        for reference in merge(space, flash, &self.references)? {
            let Some(found) = space.xattrs.references.get(reference) else { continue };
            if found.is_dead() {
                continue;
            }
            let datum = self.by_xid.get(&found.xid).copied();
            let ino = found.ino;
            let has_links = space.inode_caches.get(&ino).is_some_and(|cache| cache.links_or_parent != 0);
            let Some(found) = space.xattrs.references.get_mut(reference) else { continue };
            let Some(datum) = datum.filter(|_| has_links) else {
                found.sequence |= 1;
                continue;
            };
            found.datum = datum;
            if let Some(datum) = space.xattrs.data.get_mut(datum) {
                datum.uses += 1;
            }
            space.xattrs.of_inode.entry(ino).or_default().references.insert(0, reference);
        }
        let mut data = self.data;
        data.sort_by_key(|(xid, _)| xid % LISTS as u32);
        for (_, id) in data {
            let unchecked = space.datum_is_unchecked(id);
            let Some(datum) = space.xattrs.data.get_mut(id) else { continue };
            datum.is_dead = datum.uses == 0;
            if datum.is_dead || unchecked {
                space.xattrs.unchecked.push_front(id);
            }
        }
        Ok(())
    }
}

/// Joins the references for the same inode and datum, and returns what is left in the order in which the kernel binds it.
fn merge(space: &mut Space, flash: &Flash, references: &[u32]) -> Result<Vec<u32>> {
    let mut lists = vec![Vec::new(); MERGE_LISTS];
    let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for &id in references.iter().rev() {
        if !check_reference(space, flash, id)? {
            continue;
        }
        let Some(found) = space.xattrs.references.get(id) else { continue };
        let (node, sequence, pair) = (found.node, found.sequence, (found.ino, found.xid));
        let Some(&first) = known.get(&pair) else {
            known.insert(pair, id);
            lists[(pair.0 ^ pair.1) as usize % MERGE_LISTS].push(id);
            continue;
        };
        let table = &mut space.xattrs;
        table.references.remove(id);
        let Some(kept) = table.references.get_mut(first) else { continue };
        if sequence > kept.sequence {
            kept.sequence = sequence;
            table.chain(&mut space.refs, node, XattrOwner::Reference(first));
        } else {
            table.chain_second(&mut space.refs, node, XattrOwner::Reference(first));
        }
    }
    Ok(lists.into_iter().flat_map(|list| list.into_iter().rev()).collect())
}

/// Reads a reference that only a summary has announced (`verify_xattr_ref`). `false`: it is damaged, and gone.
fn check_reference(space: &mut Space, flash: &Flash, id: u32) -> Result<bool> {
    let Some(node) = space.xattrs.references.get(id).map(|found| found.node) else { return Ok(false) };
    if space.refs[node].state() != NodeState::Unchecked {
        return Ok(true);
    }
    let mut header = [0; XREF_BYTES as usize];
    flash.read(space.refs[node].offset(), &mut header)?;
    flash.sim.work(Work::Crc, header.len());
    let Some(raw) = RawXref::decode(flash.endian, &header) else {
        space.refs[node].set_xattr_owner(None);
        space.xattrs.references.remove(id);
        space.mark_obsolete(flash, node);
        return Ok(false);
    };
    space.xattrs.note_sequence(raw.sequence);
    if let Some(found) = space.xattrs.references.get_mut(id) {
        (found.ino, found.xid, found.sequence) = (raw.ino, raw.xid, raw.sequence);
    }
    space.mark_checked(node, NodeState::Pristine);
    Ok(true)
}
