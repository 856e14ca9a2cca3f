//! The nodes of extended attributes: checking, reading, writing and moving them.
//!
//! Follows `fs/jffs2/xattr.c` (`do_verify_xattr_datum`, `do_load_xattr_datum`, `save_xattr_datum`, `save_xattr_ref`,
//! `jffs2_garbage_collect_xattr_datum`, `jffs2_garbage_collect_xattr_ref`). Their nodes do not start the timer of the write
//! buffer, and an fsync of the inode does not wait for them, since they are written for no inode.

use ffslab_fs::{Errno, Result};
use ffslab_sim::Work;

use crate::flash::Flash;
use crate::format::{crc32, RawXattr, RawXref, XATTR_BYTES, XREF_BYTES};
use crate::refs::{NodeState, RefId, XattrOwner, NONE};
use crate::space::Space;
use crate::store::Store;
use crate::summary::{XATTR_ENTRY_BYTES, XREF_ENTRY_BYTES};
use crate::xattr_table::Datum;

/// Whether a check sum on flash was right. A datum whose check sums are wrong is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soundness {
    Sound,
    Corrupted,
}

/// By which a name, NUL and value are found (`xattr_datum_hashkey`).
pub fn content_hash(prefix: u8, bytes: &[u8], name_bytes: u8) -> u32 {
    let (name, rest) = bytes.split_at(usize::from(name_bytes));
    crc32(u32::from(prefix), name) ^ crc32(u32::from(prefix), &rest[1..])
}

impl Space {
    fn has_unchecked_node(&self, mut node: RefId) -> bool {
        while node != NONE {
            if self.refs[node].state() == NodeState::Unchecked {
                return true;
            }
            node = self.refs[node].next_in_inode;
        }
        false
    }

    /// Counts the nodes of a chain as used, of which the first is the one that counts.
    pub fn mark_chain_checked(&mut self, head: RefId, head_state: NodeState) {
        let mut node = head;
        while node != NONE {
            let state = if node == head { head_state } else { NodeState::Normal };
            match self.refs[node].state() {
                NodeState::Unchecked => self.mark_checked(node, state),
                NodeState::Obsolete => {}
                NodeState::Pristine | NodeState::Normal => self.refs[node].set_state(state),
            }
            node = self.refs[node].next_in_inode;
        }
    }

    /// Whether a datum waits for the check of its nodes.
    pub fn datum_is_unchecked(&self, id: u32) -> bool {
        self.xattrs.data.get(id).is_some_and(|datum| self.has_unchecked_node(datum.node))
    }

    /// Checks the header of a datum that only a summary has announced (`do_verify_xattr_datum`).
    pub fn check_datum(&mut self, flash: &Flash, id: u32) -> Result<Soundness> {
        let Some(datum) = self.xattrs.data.get(id) else { return Ok(Soundness::Corrupted) };
        let (node, xid, version) = (datum.node, datum.header.xid, datum.header.version);
        if node == NONE {
            return Ok(Soundness::Corrupted);
        }
        if self.refs[node].state() != NodeState::Pristine {
            let mut header = [0; XATTR_BYTES as usize];
            flash.read(self.refs[node].offset(), &mut header)?;
            flash.sim.work(Work::Crc, header.len());
            let raw = RawXattr::decode(flash.endian, &header);
            let bytes = self.ref_bytes(node);
            let fits = |raw: &RawXattr| raw.xid == xid && raw.version == version && raw.total_bytes() <= bytes;
            let Some(datum) = self.xattrs.data.get_mut(id) else { return Ok(Soundness::Corrupted) };
            let Some(raw) = raw.filter(fits) else {
                datum.is_invalid = true;
                return Ok(Soundness::Corrupted);
            };
            datum.header = raw;
        }
        self.mark_chain_checked(node, NodeState::Pristine);
        if self.xattrs.unchecked.front() == Some(&id) {
            self.xattrs.unchecked.pop_front();
        } else {
            self.xattrs.unchecked.retain(|&other| other != id);
        }
        Ok(Soundness::Sound)
    }

    /// Checks all data that wait for it (`jffs2_verify_xattr`).
    pub fn check_data(&mut self, flash: &Flash) -> Result<()> {
        while let Some(&id) = self.xattrs.unchecked.front() {
            if self.check_datum(flash, id)? == Soundness::Corrupted {
                let node = self.xattrs.data.get(id).map_or(NONE, |datum| datum.node);
                self.mark_chain_checked(node, NodeState::Normal);
                self.xattrs.unchecked.pop_front();
            }
        }
        Ok(())
    }

    /// Makes sure that name and value of a datum are in memory (`load_xattr_datum`).
    pub fn load_datum(&mut self, flash: &Flash, id: u32) -> Result<Soundness> {
        let Some(datum) = self.xattrs.data.get(id) else { return Ok(Soundness::Corrupted) };
        if datum.content.is_some() {
            return Ok(Soundness::Sound);
        }
        if datum.is_invalid || datum.is_dead {
            return Ok(Soundness::Corrupted);
        }
        if self.has_unchecked_node(datum.node) && self.check_datum(flash, id)? == Soundness::Corrupted {
            return Ok(Soundness::Corrupted);
        }
        let Some(datum) = self.xattrs.data.get_mut(id).filter(|datum| datum.node != NONE) else {
            return Ok(Soundness::Corrupted);
        };
        let header = datum.header;
        let mut bytes = vec![0; header.data_bytes() as usize];
        flash.read(self.refs[datum.node].offset() + XATTR_BYTES, &mut bytes)?;
        flash.node_work(Work::NodeRead, bytes.len());
        bytes[usize::from(header.name_bytes)] = 0;
        if crc32(0, &bytes) != header.data_crc {
            datum.is_invalid = true;
            return Ok(Soundness::Corrupted);
        }
        let hash = content_hash(header.prefix, &bytes, header.name_bytes);
        self.xattrs.keep(id, bytes.into_boxed_slice(), hash);
        self.xattrs.shrink();
        Ok(Soundness::Sound)
    }
}

impl Store {
    /// Writes a datum whose content is `bytes` into the space that was reserved, with its next version.
    fn save_datum(&mut self, id: u32, bytes: &[u8]) -> Result<()> {
        let Some(datum) = self.space.xattrs.data.get_mut(id) else { return Err(Errno::Io) };
        datum.header.version = datum.header.version.wrapping_add(1);
        let header = datum.header;
        self.write_xattr_node([&header.encode(self.flash.endian), bytes], header.total_bytes(), XattrOwner::Datum(id))
    }

    /// Writes a reference, or the mark of its deletion if it is dead, into the space that was reserved.
    pub fn save_reference(&mut self, id: u32) -> Result<()> {
        let table = &mut self.space.xattrs;
        let Some(reference) = table.references.get(id) else { return Err(Errno::Io) };
        table.highest_sequence = table.highest_sequence.wrapping_add(2);
        let sequence = table.highest_sequence | (reference.sequence & 1);
        let header = RawXref { ino: reference.ino, xid: reference.xid, sequence }.encode(self.flash.endian);
        self.write_xattr_node([&header, &[]], XREF_BYTES, XattrOwner::Reference(id))?;
        if let Some(reference) = self.space.xattrs.references.get_mut(id) {
            reference.sequence = sequence;
        }
        Ok(())
    }

    fn write_xattr_node(&mut self, parts: [&[u8]; 2], total_bytes: u32, owner: XattrOwner) -> Result<()> {
        let offset = self.space.write_offset();
        self.flash.node_work(Work::NodeWrite, parts[0].len() + parts[1].len());
        self.flash_write(offset, parts, 0)?;
        let node = self.add_node(offset, NodeState::Pristine, total_bytes, 0)?;
        let space = &mut self.space;
        space.xattrs.chain(&mut space.refs, node, owner);
        Ok(())
    }

    /// A datum with this content (name, NUL, value): one that is in memory already, or a new one, which is written into the
    /// space that was reserved (`create_xattr_datum`). It has one user more.
    pub fn create_datum(&mut self, prefix: u8, name_bytes: u8, bytes: &[u8]) -> Result<u32> {
        let hash = content_hash(prefix, bytes, name_bytes);
        let table = &mut self.space.xattrs;
        if let Some(id) = table.find(prefix, bytes, hash) {
            if let Some(datum) = table.data.get_mut(id) {
                datum.uses += 1;
            }
            return Ok(id);
        }
        table.highest_xid = table.highest_xid.wrapping_add(1);
        let header = RawXattr {
            xid: table.highest_xid,
            version: 0,
            prefix,
            name_bytes,
            value_bytes: (bytes.len() - usize::from(name_bytes) - 1) as u16,
            data_crc: crc32(0, bytes),
        };
        let datum = Datum { uses: 1, ..Datum::new(header) };
        let id = table.data.add(datum);
        if let Err(error) = self.save_datum(id, bytes) {
            self.space.xattrs.data.remove(id);
            return Err(error);
        }
        self.space.xattrs.keep(id, bytes.into(), hash);
        self.space.xattrs.shrink();
        Ok(id)
    }

    /// Moves a node of an extended attribute out of the block that is being emptied, if it is still needed.
    pub fn collect_xattr_node(&mut self, node: RefId, owner: XattrOwner) -> Result<()> {
        match owner {
            XattrOwner::Datum(id) => self.move_datum(node, id)?,
            XattrOwner::Reference(id) => self.move_reference(node, id)?,
        }
        self.space.mark_obsolete(&self.flash, node);
        Ok(())
    }

    fn move_datum(&mut self, node: RefId, id: u32) -> Result<()> {
        let Some(datum) = self.space.xattrs.data.get(id) else { return Ok(()) };
        if datum.node != node || datum.is_dead || datum.is_invalid {
            return Ok(());
        }
        if self.space.load_datum(&self.flash, id)? == Soundness::Corrupted {
            return Ok(());
        }
        let Some(datum) = self.space.xattrs.data.get(id) else { return Ok(()) };
        let total_bytes = datum.header.total_bytes();
        let Some(content) = datum.content.as_ref().map(|content| content.bytes.clone()) else { return Ok(()) };
        self.reserve_for_gc(total_bytes, XATTR_ENTRY_BYTES)?;
        self.save_datum(id, &content)
    }

    /// The mark of a deletion is dropped when nothing is left that it deletes.
    fn move_reference(&mut self, node: RefId, id: u32) -> Result<()> {
        let Some(reference) = self.space.xattrs.references.get(id) else { return Ok(()) };
        let is_last = self.space.refs[node].next_in_inode == NONE;
        if reference.node != node || reference.is_dead() && is_last {
            return Ok(());
        }
        self.reserve_for_gc(XREF_BYTES, XREF_ENTRY_BYTES)?;
        self.save_reference(id)
    }
}
