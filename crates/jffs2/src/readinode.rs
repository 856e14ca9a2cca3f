//! Bringing an inode into memory: all its nodes' headers are read and put in order.
//!
//! Follows `fs/jffs2/readinode.c`. Nodes arrive newest link first, with versions in any order. A node that a newer
//! one covers wholly is dropped at once; the others go into a list ordered by file offset, from which the fragment
//! map is built at the end, overlapping runs in version order. Data CRCs of nodes that were never checked are
//! checked only as far as the nodes are still needed.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::candidate::{Candidate, Meets};
use crate::causes;
use crate::faults;
use ffslab_fs::{Errno, FileKind, Result};
use ffslab_sim::{RedBlackTree, Work};

use crate::damage::{Fail, Flaw, Res};
use crate::flash::Flash;
use crate::format::{
    crc32, pad, Header, RawDirent, RawInode, DIRENT_BYTES, INODE_BYTES, MAGIC, NAME_BYTES_MAX, TYPE_DIRENT, TYPE_INODE,
};
use crate::inode::{decode_device, Dirent, Inode};
use crate::read::Reader;
use crate::refs::{NodeState, RefId, NONE};
use crate::space::{InodeState, Space};

/// Order of candidates: by offset, shorter ones first, then by arrival.
type Key = (u32, u32, u32);

struct Loader<'a> {
    space: &'a mut Space,
    flash: &'a Flash,
    reader: &'a mut Reader,
    candidates: BTreeMap<Key, Candidate>,
    /// The same in the kernel's tree, by arrival: at which node a search ends depends on its shape.
    shape: RedBlackTree<Key>,
    metadata: Option<Candidate>,
    arrivals: u32,
    inode: Box<Inode>,
    latest_dirent: (u32, u32),
    has_dirents: bool,
}

/// Loads inode `ino` from flash. `checking`: the nodes are only verified after a mount, so the target of a symbolic link is
/// not read.
pub fn load_inode(
    space: &mut Space,
    flash: &Flash,
    reader: &mut Reader,
    ino: u32,
    checking: bool,
) -> Result<Box<Inode>> {
    let _why = flash.sim.because(if checking { &causes::CHECK } else { &causes::INODE_READ });
    let mut loader = Loader {
        space,
        flash,
        reader,
        candidates: BTreeMap::new(),
        shape: RedBlackTree::default(),
        metadata: None,
        arrivals: 0,
        inode: Box::new(Inode::new(ino, FileKind::Directory, 0o755, flash.options.name_hash)),
        latest_dirent: (0, 0),
        has_dirents: false,
    };
    match loader.read_nodes().map_err(Fail::from).and_then(|()| loader.finish(checking)) {
        Ok(()) => Ok(loader.inode),
        Err(error) => {
            forget_inode(loader.space, &mut loader.inode);
            Err(loader.reader.note(loader.space, ino, error))
        }
    }
}

impl Loader<'_> {
    fn read_nodes(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.reader.headers);
        let mut next = self.space.inode_caches.get(&self.inode.ino).map_or(NONE, |c| c.first);
        let mut result = Ok(());
        while next != NONE {
            let id = next;
            next = self.space.refs[id].next_in_inode;
            if self.space.refs[id].is_obsolete() {
                continue;
            }
            result = self.read_node(id, &mut buffer);
            if result.is_err() {
                break;
            }
        }
        self.reader.headers = buffer;
        result
    }

    /// Reads a node's header. One read goes up to the end of the page that holds byte 40 of the node; a second one
    /// follows when the header is longer.
    fn read_node(&mut self, id: RefId, buffer: &mut [u8]) -> Result<()> {
        let offset = self.space.refs[id].offset();
        let page = self.flash.page_bytes;
        let end = (offset + DIRENT_BYTES).div_ceil(page) * page;
        let mut have = (end - offset).min(self.flash.bytes - offset) as usize;
        self.flash.read(offset, &mut buffer[..have])?;
        self.flash.node_work(Work::NodeRead, INODE_BYTES as usize);
        let header = Header::decode(self.flash.endian, buffer);
        if header.magic != MAGIC || !header.crc_ok(self.flash.endian, buffer) {
            self.space.mark_obsolete(self.flash, id);
            return Ok(());
        }
        match header.node_type {
            TYPE_DIRENT => self.read_dirent(id, &buffer[..have]),
            TYPE_INODE => {
                if have < INODE_BYTES as usize {
                    let more = (INODE_BYTES as usize - have).div_ceil(page as usize) * page as usize;
                    let at = offset + have as u32;
                    let more = more.min((self.flash.bytes - at) as usize);
                    self.flash.read(at, &mut buffer[have..have + more])?;
                    have += more;
                }
                self.read_data_node(id, &buffer[..have], header.total_bytes)
            }
            _ => {
                self.space.mark_obsolete(self.flash, id);
                Ok(())
            }
        }
    }

    fn read_dirent(&mut self, id: RefId, have: &[u8]) -> Result<()> {
        let Some(raw) = RawDirent::decode(self.flash.endian, have) else {
            self.space.mark_obsolete(self.flash, id);
            return Ok(());
        };
        let name_bytes = usize::from(raw.name_bytes);
        if self.space.refs[id].state() == NodeState::Unchecked {
            let state = if raw.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
            self.space.mark_checked(id, state);
        }
        if pad(raw.total_bytes()) != self.space.ref_bytes(id) {
            self.space.mark_obsolete(self.flash, id);
            return Ok(());
        }
        let mut name = have[DIRENT_BYTES as usize..].to_vec();
        if name.len() < name_bytes {
            let at = self.space.refs[id].offset() + have.len() as u32;
            let start = name.len();
            name.resize(name_bytes, 0);
            self.flash.read(at, &mut name[start..])?;
        }
        name.truncate(name_bytes);
        if crc32(0, &name) != raw.name_crc || name.is_empty() || name_bytes > NAME_BYTES_MAX {
            self.space.mark_obsolete(self.flash, id);
            return Ok(());
        }
        self.has_dirents = true;
        self.inode.highest_version = self.inode.highest_version.max(raw.version);
        if raw.version > self.latest_dirent.0 && raw.changed_s != 0 {
            self.latest_dirent = (raw.version, raw.changed_s);
        }
        let dirent = Dirent { node: id, version: raw.version, ino: raw.ino, dirent_type: raw.dirent_type };
        self.inode.dirents.add(self.space, self.flash, &name, dirent);
        Ok(())
    }

    fn read_data_node(&mut self, id: RefId, have: &[u8], total_bytes: u32) -> Result<()> {
        let Some(raw) = RawInode::decode(self.flash.endian, have) else {
            self.space.mark_obsolete(self.flash, id);
            return Ok(());
        };
        let covered = raw.covered_bytes();
        let sane = raw.offset.checked_add(covered).is_some()
            && raw.compressed_bytes.checked_add(INODE_BYTES).map(pad) == Some(pad(total_bytes))
            && pad(total_bytes) == self.space.ref_bytes(id)
            && (raw.compressed_bytes == 0 || covered <= self.flash.block_bytes);
        if !sane {
            self.space.mark_obsolete(self.flash, id);
            return Ok(());
        }
        let mut partial_crc = 0;
        if self.space.refs[id].state() == NodeState::Unchecked {
            if raw.offset > raw.file_bytes {
                self.space.mark_obsolete(self.flash, id);
                return Ok(());
            }
            if raw.compressed_bytes == 0 {
                self.space.mark_checked(id, NodeState::Normal);
            } else {
                let data = &have[INODE_BYTES as usize..];
                let known = data.len().min(raw.compressed_bytes as usize);
                self.flash.sim.work(Work::Crc, known);
                partial_crc = crc32(0, &data[..known]);
                if known == raw.compressed_bytes as usize
                    && partial_crc != raw.data_crc
                    && !faults::DATA_BELIEVED.is_seeded()
                {
                    self.space.mark_obsolete(self.flash, id);
                    return Ok(());
                }
            }
        }
        self.inode.highest_version = self.inode.highest_version.max(raw.version);
        let candidate = Candidate {
            node: id,
            version: raw.version,
            offset: raw.offset,
            bytes: covered,
            compressed_bytes: raw.compressed_bytes,
            data_crc: raw.data_crc,
            partial_crc,
            overlapped: false,
        };
        self.add_candidate(candidate)
    }

    /// Adds a data node, unless a newer one covers it completely, and drops the nodes that it covers
    /// (`jffs2_add_tn_to_tree`).
    fn add_candidate(&mut self, new: Candidate) -> Result<()> {
        if new.bytes == 0 {
            // The node has no data but only attributes: the newest such node is kept.
            match self.metadata {
                Some(old) if old.version >= new.version => self.space.mark_obsolete(self.flash, new.node),
                Some(old) => {
                    self.space.mark_obsolete(self.flash, old.node);
                    self.metadata = Some(new);
                }
                None => self.metadata = Some(new),
            }
            return Ok(());
        }
        let end = new.offset + new.bytes;
        let candidates = &mut self.candidates;
        // The kernel means to find the earliest node that matters; what it finds is where the search ends, the last node before this
        // one or the first behind it (`jffs2_lookup_tn`).
        let found = self.shape.search_end(|&(offset, _, _)| offset < new.offset);
        let mut key = found.map(|arrival| self.shape.key(arrival));
        // Go back to the first node of a run of overlapping nodes.
        while let Some(k) = key {
            if !candidates[&k].overlapped {
                break;
            }
            match candidates.range(..k).next_back() {
                Some((previous, _)) => key = Some(*previous),
                None => {
                    if let Some(c) = candidates.get_mut(&k) {
                        c.overlapped = false;
                    }
                    break;
                }
            }
        }
        let mut from = key.map(Bound::Included);
        while let Some(start) = from {
            let near = self.candidates.range((start, Bound::Unbounded)).take_while(|(_, this)| this.offset <= end);
            let Some((k, this, meets)) =
                near.map(|(k, this)| (*k, *this, Meets::of(this, &new))).find(|(_, _, meets)| *meets != Meets::Beside)
            else {
                break;
            };
            match meets {
                Meets::Beside => break,
                Meets::Copy => {
                    // Two nodes with the same version are copies: a power cut interrupted garbage collection after it had
                    // copied the node. One copy with a right CRC is kept.
                    if self.candidate_ok(&this)? {
                        self.space.mark_obsolete(self.flash, new.node);
                    } else {
                        self.space.mark_obsolete(self.flash, this.node);
                        // In its very place (`rb_replace_node`), although the copy may be longer: who stands behind knows only
                        // that the node in this place overlaps it.
                        self.candidates.insert(k, Candidate { overlapped: this.overlapped, ..new });
                    }
                    return Ok(());
                }
                Meets::Covered => {
                    if !self.candidate_ok(&new)? {
                        self.space.mark_obsolete(self.flash, new.node);
                        return Ok(());
                    }
                    self.remove_candidate(k);
                    self.space.mark_obsolete(self.flash, this.node);
                    from = Some(Bound::Excluded(k));
                }
                Meets::Covers => {
                    if self.candidate_ok(&this)? {
                        self.space.mark_obsolete(self.flash, new.node);
                        return Ok(());
                    }
                    self.remove_candidate(k);
                    self.space.mark_obsolete(self.flash, this.node);
                    break;
                }
            }
        }
        self.insert_candidate(new);
        Ok(())
    }

    fn insert_candidate(&mut self, mut new: Candidate) {
        self.arrivals += 1;
        let key = (new.offset, new.bytes, self.arrivals);
        for (_, before) in self.candidates.range(..key).rev() {
            if before.offset + before.bytes > new.offset {
                new.overlapped = true;
                break;
            }
            if !before.overlapped {
                break;
            }
        }
        for (_, after) in self.candidates.range_mut(key..) {
            if after.offset >= new.offset + new.bytes {
                break;
            }
            after.overlapped = true;
        }
        self.candidates.insert(key, new);
        self.shape.insert(key.2, key);
    }

    fn remove_candidate(&mut self, key: Key) {
        self.candidates.remove(&key);
        self.shape.remove(key.2);
    }

    /// Checks the data CRC of a node that was not checked yet. The data up to the end of the header's page were
    /// included when the header was read.
    fn candidate_ok(&mut self, candidate: &Candidate) -> Result<bool> {
        let id = candidate.node;
        if self.space.refs[id].state() != NodeState::Unchecked {
            return Ok(true);
        }
        let data_at = self.space.refs[id].offset() + INODE_BYTES;
        let seen = (self.flash.page_bytes - data_at % self.flash.page_bytes) % self.flash.page_bytes;
        if seen < candidate.compressed_bytes {
            let rest = (candidate.compressed_bytes - seen) as usize;
            let mut data = std::mem::take(&mut self.reader.node);
            let read = self.flash.read_or_fetch(data_at + seen, &mut data[..rest]);
            self.flash.sim.work(Work::Crc, rest);
            let crc = crc32(candidate.partial_crc, &data[..rest]);
            self.reader.node = data;
            read?;
            if crc != candidate.data_crc && !faults::DATA_BELIEVED.is_seeded() {
                return Ok(false);
            }
        }
        self.space.mark_checked(id, NodeState::Pristine);
        Ok(true)
    }

    /// Builds the fragment map from the remaining candidates and takes the attributes from the newest node.
    fn finish(&mut self, checking: bool) -> Res<()> {
        let mut newest = self.metadata.map_or((0, NONE), |m| (m.version, m.node));
        let mut run: Vec<Candidate> = Vec::new();
        while let Some((_, last)) = self.candidates.pop_last() {
            run.push(last);
            if last.overlapped && !self.candidates.is_empty() {
                continue;
            }
            run.sort_by_key(|c| c.version);
            for candidate in run.drain(..) {
                if !self.candidate_ok(&candidate)? {
                    self.space.mark_obsolete(self.flash, candidate.node);
                    continue;
                }
                if candidate.version > newest.0 {
                    newest = (candidate.version, candidate.node);
                }
                self.space.refs[candidate.node].set_covered(candidate.offset, candidate.bytes);
                self.inode.fragments.add(self.space, self.flash, candidate.node);
            }
        }
        if let Some(metadata) = self.metadata {
            if metadata.node == newest.1 {
                self.space.refs[metadata.node].set_covered(0, 0);
                self.inode.metadata = metadata.node;
            } else {
                self.space.mark_obsolete(self.flash, metadata.node);
            }
        }
        if newest.1 == NONE {
            // The root directory has no inode node until its attributes change.
            let needs_none = self.inode.ino == 1 || self.has_dirents;
            return if needs_none { Ok(()) } else { Err(Fail::Flaw(Flaw::NoNode, NONE)) };
        }
        self.take_attributes(newest.1, checking)
    }

    fn take_attributes(&mut self, newest: RefId, checking: bool) -> Res<()> {
        let mut header = [0u8; INODE_BYTES as usize];
        self.flash.read(self.space.refs[newest].offset(), &mut header)?;
        let raw = RawInode::decode(self.flash.endian, &header).ok_or(Fail::Flaw(Flaw::Header, newest))?;
        let kind = FileKind::from_mode(raw.mode).ok_or(Fail::Flaw(Flaw::Mode { mode: raw.mode }, newest))?;
        let inode = &mut self.inode;
        inode.kind = kind;
        inode.permissions = raw.mode & 0o7777;
        inode.uid = raw.uid;
        inode.gid = raw.gid;
        inode.file_bytes = raw.file_bytes;
        inode.accessed_s = raw.accessed_s;
        inode.modified_s = raw.modified_s;
        inode.changed_s = raw.changed_s;
        match kind {
            FileKind::Directory => {
                if self.latest_dirent.0 > raw.version {
                    inode.changed_s = self.latest_dirent.1;
                    inode.modified_s = self.latest_dirent.1;
                }
            }
            FileKind::File => inode.file_bytes = inode.fragments.truncate(self.space, self.flash, raw.file_bytes),
            FileKind::Symlink | FileKind::CharDevice | FileKind::BlockDevice => {
                // The single data node of such an inode serves as the node with the attributes.
                let nodes = inode.fragments.len();
                if inode.metadata != NONE || nodes != 1 {
                    return Err(Fail::Flaw(Flaw::DataNodes { nodes }, newest));
                }
                let bytes = raw.compressed_bytes as usize;
                if bytes > NAME_BYTES_MAX {
                    return Err(Errno::NameTooLong.into());
                }
                let only = inode.fragments.drain().next().map_or(NONE, |f| f.node);
                inode.metadata = only;
                if !checking {
                    let mut data = vec![0; bytes];
                    self.flash.read(self.space.refs[newest].offset() + INODE_BYTES, &mut data)?;
                    if kind == FileKind::Symlink {
                        inode.file_bytes = bytes as u32;
                        inode.target = data;
                    } else {
                        inode.device = decode_device(self.flash.endian, &data);
                    }
                }
            }
            FileKind::Fifo | FileKind::Socket => {}
        }
        Ok(())
    }
}

/// Removes an inode from memory. Its nodes on flash stay valid.
pub fn forget_inode(space: &mut Space, inode: &mut Inode) {
    for fragment in inode.fragments.drain().filter(|fragment| fragment.node != NONE) {
        space.refs[fragment.node].lose_fragment();
    }
    let metadata = std::mem::replace(&mut inode.metadata, NONE);
    if metadata != NONE {
        space.refs[metadata].leave_memory();
    }
    for (_, dirent) in inode.dirents.iter() {
        space.refs[dirent.node].leave_memory();
    }
}

/// Checks all nodes of an inode after the mount. The inode does not stay in memory.
pub fn check_inode(space: &mut Space, flash: &Flash, reader: &mut Reader, ino: u32) -> Result<()> {
    let checked = load_inode(space, flash, reader, ino, true);
    if let Some(cache) = space.inode_caches.get_mut(&ino) {
        cache.state = InodeState::CheckedAbsent;
    }
    match checked {
        Ok(mut inode) => {
            forget_inode(space, &mut inode);
            Ok(())
        }
        Err(Errno::PowerCut) => Err(Errno::PowerCut),
        // A damaged inode is not reported here but when somebody uses it.
        Err(_) => Ok(()),
    }
}
