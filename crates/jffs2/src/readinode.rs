//! Bringing an inode into memory: all its nodes' headers are read and put in order.
//!
//! Follows `fs/jffs2/readinode.c`. Nodes arrive newest link first, with versions in any order. A node that a newer
//! one covers wholly is dropped at once; the others go into a list ordered by file offset, from which the fragment
//! map is built at the end, overlapping runs in version order. Data CRCs of nodes that were never checked are
//! checked only as far as the nodes are still needed.

use std::collections::BTreeMap;

use crate::causes;
use ffslab_fs::{Errno, FileKind, Result};
use ffslab_sim::Work;

use crate::format::{
    crc32, pad, Header, RawDirent, RawInode, DIRENT_BYTES, INODE_BYTES, MAGIC, NAME_BYTES_MAX, TYPE_DIRENT, TYPE_INODE,
};
use crate::inode::{decode_device, Dirent, Inode};
use crate::refs::{NodeState, RefId, NONE};
use crate::store::{InodeState, Store};

/// A data node that was read, not yet in the fragment map (`struct jffs2_tmp_dnode_info`).
#[derive(Clone, Copy)]
struct Candidate {
    node: RefId,
    version: u32,
    offset: u32,
    bytes: u32,
    compressed_bytes: u32,
    data_crc: u32,
    /// CRC of those data that were read together with the header.
    partial_crc: u32,
    overlapped: bool,
}

/// Order of candidates: by offset, shorter ones first, then by arrival.
type Key = (u32, u32, u32);

struct Loader {
    candidates: BTreeMap<Key, Candidate>,
    metadata: Option<Candidate>,
    arrivals: u32,
    inode: Box<Inode>,
    latest_dirent: (u32, u32),
    has_dirents: bool,
}

impl Store {
    /// Loads inode `ino` from flash. `checking`: the nodes are only verified after a mount, so the target of a symbolic
    /// link is not read.
    pub fn load_inode(&mut self, ino: u32, checking: bool) -> Result<Box<Inode>> {
        let _why = self.sim.because(if checking { &causes::CHECK } else { &causes::INODE_READ });
        let mut loader = Loader {
            candidates: BTreeMap::new(),
            metadata: None,
            arrivals: 0,
            inode: Box::new(Inode::new(ino, FileKind::Directory, 0o755)),
            latest_dirent: (0, 0),
            has_dirents: false,
        };
        let read = self.read_nodes(ino, &mut loader).and_then(|()| self.finish_load(&mut loader, checking));
        match read {
            Ok(()) => Ok(loader.inode),
            Err(error) => {
                self.forget_inode(&mut loader.inode);
                Err(error)
            }
        }
    }

    fn read_nodes(&mut self, ino: u32, loader: &mut Loader) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.header_buffer);
        let mut next = self.inode_caches.get(&ino).map_or(NONE, |c| c.first);
        let mut result = Ok(());
        while next != NONE {
            let id = next;
            next = self.refs[id].next_in_inode;
            if self.refs[id].is_obsolete() {
                continue;
            }
            result = self.read_node(id, loader, &mut buffer);
            if result.is_err() {
                break;
            }
        }
        self.header_buffer = buffer;
        result
    }

    /// Reads a node's header. One read goes up to the end of the page that holds byte 40 of the node; a second one
    /// follows when the header is longer.
    fn read_node(&mut self, id: RefId, loader: &mut Loader, buffer: &mut [u8]) -> Result<()> {
        let offset = self.refs[id].offset();
        let page = self.page_bytes;
        let end = (offset + DIRENT_BYTES).div_ceil(page) * page;
        let mut have = (end - offset).min(self.flash_bytes - offset) as usize;
        self.flash_read(offset, &mut buffer[..have])?;
        self.node_work(Work::NodeRead, INODE_BYTES as usize);
        let header = Header::decode(self.endian, buffer);
        if header.magic != MAGIC || !header.crc_ok(self.endian, buffer) {
            self.mark_obsolete(id);
            return Ok(());
        }
        match header.node_type {
            TYPE_DIRENT => self.read_dirent(id, loader, &buffer[..have]),
            TYPE_INODE => {
                if have < INODE_BYTES as usize {
                    let more = (INODE_BYTES as usize - have).div_ceil(page as usize) * page as usize;
                    let at = offset + have as u32;
                    let more = more.min((self.flash_bytes - at) as usize);
                    self.flash_read(at, &mut buffer[have..have + more])?;
                    have += more;
                }
                self.read_data_node(id, loader, &buffer[..have], header.total_bytes)
            }
            _ => {
                self.mark_obsolete(id);
                Ok(())
            }
        }
    }

    fn read_dirent(&mut self, id: RefId, loader: &mut Loader, have: &[u8]) -> Result<()> {
        let Some(raw) = RawDirent::decode(self.endian, have) else {
            self.mark_obsolete(id);
            return Ok(());
        };
        let name_bytes = usize::from(raw.name_bytes);
        if self.refs[id].state() == NodeState::Unchecked {
            let state = if raw.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
            self.mark_checked(id, state);
        }
        if pad(raw.total_bytes()) != self.ref_bytes(id) {
            self.mark_obsolete(id);
            return Ok(());
        }
        let mut name = have[DIRENT_BYTES as usize..].to_vec();
        if name.len() < name_bytes {
            let at = self.refs[id].offset() + have.len() as u32;
            let start = name.len();
            name.resize(name_bytes, 0);
            self.flash_read(at, &mut name[start..])?;
        }
        name.truncate(name_bytes);
        if crc32(0, &name) != raw.name_crc || name.is_empty() || name_bytes > NAME_BYTES_MAX {
            self.mark_obsolete(id);
            return Ok(());
        }
        loader.has_dirents = true;
        loader.inode.highest_version = loader.inode.highest_version.max(raw.version);
        if raw.version > loader.latest_dirent.0 && raw.changed_s != 0 {
            loader.latest_dirent = (raw.version, raw.changed_s);
        }
        let dirent = Dirent { node: id, version: raw.version, ino: raw.ino, dirent_type: raw.dirent_type };
        loader.inode.dirents.add(self, &name, dirent);
        Ok(())
    }

    fn read_data_node(&mut self, id: RefId, loader: &mut Loader, have: &[u8], total_bytes: u32) -> Result<()> {
        let Some(raw) = RawInode::decode(self.endian, have) else {
            self.mark_obsolete(id);
            return Ok(());
        };
        let covered = raw.covered_bytes();
        let sane = raw.offset.checked_add(covered).is_some()
            && raw.compressed_bytes.checked_add(INODE_BYTES).map(pad) == Some(pad(total_bytes))
            && pad(total_bytes) == self.ref_bytes(id)
            && (raw.compressed_bytes == 0 || covered <= self.block_bytes);
        if !sane {
            self.mark_obsolete(id);
            return Ok(());
        }
        let mut partial_crc = 0;
        if self.refs[id].state() == NodeState::Unchecked {
            if raw.offset > raw.file_bytes {
                self.mark_obsolete(id);
                return Ok(());
            }
            if raw.compressed_bytes == 0 {
                self.mark_checked(id, NodeState::Normal);
            } else {
                let data = &have[INODE_BYTES as usize..];
                let known = data.len().min(raw.compressed_bytes as usize);
                self.sim.work(Work::Crc, known);
                partial_crc = crc32(0, &data[..known]);
                if known == raw.compressed_bytes as usize && partial_crc != raw.data_crc {
                    self.mark_obsolete(id);
                    return Ok(());
                }
            }
        }
        loader.inode.highest_version = loader.inode.highest_version.max(raw.version);
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
        self.add_candidate(loader, candidate)
    }

    /// Adds a data node, unless a newer one covers it completely, and drops the nodes that it covers
    /// (`jffs2_add_tn_to_tree`).
    fn add_candidate(&mut self, loader: &mut Loader, new: Candidate) -> Result<()> {
        if new.bytes == 0 {
            // The node has no data but only attributes: the newest such node is kept.
            match loader.metadata {
                Some(old) if old.version >= new.version => self.mark_obsolete(new.node),
                Some(old) => {
                    self.mark_obsolete(old.node);
                    loader.metadata = Some(new);
                }
                None => loader.metadata = Some(new),
            }
            return Ok(());
        }
        let end = new.offset + new.bytes;
        let candidates = &mut loader.candidates;
        let mut key = candidates
            .range(..(new.offset, 0, 0))
            .next_back()
            .or_else(|| candidates.range((new.offset, 0, 0)..).next())
            .map(|(k, _)| *k);
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
        while let Some(k) = key {
            let this = loader.candidates[&k];
            if this.offset > end {
                break;
            }
            let next = |c: &BTreeMap<Key, Candidate>| {
                c.range((std::ops::Bound::Excluded(k), std::ops::Bound::Unbounded)).next().map(|(k, _)| *k)
            };
            if this.version == new.version {
                // Two nodes with the same version are copies: a power cut interrupted garbage collection after it had
                // copied the node. One copy with a right CRC is kept.
                if self.candidate_ok(&this)? {
                    self.mark_obsolete(new.node);
                } else {
                    self.mark_obsolete(this.node);
                    loader.candidates.remove(&k);
                    let arrival = (new.offset, new.bytes, k.2);
                    loader.candidates.insert(arrival, Candidate { overlapped: this.overlapped, ..new });
                }
                return Ok(());
            }
            if this.version < new.version && this.offset >= new.offset && this.offset + this.bytes <= end {
                if !self.candidate_ok(&new)? {
                    self.mark_obsolete(new.node);
                    return Ok(());
                }
                let following = next(&loader.candidates);
                loader.candidates.remove(&k);
                self.mark_obsolete(this.node);
                key = following;
                continue;
            }
            if this.version > new.version && this.offset <= new.offset && this.offset + this.bytes >= end {
                if self.candidate_ok(&this)? {
                    self.mark_obsolete(new.node);
                    return Ok(());
                }
                loader.candidates.remove(&k);
                self.mark_obsolete(this.node);
                break;
            }
            key = next(&loader.candidates);
        }
        self.insert_candidate(loader, new);
        Ok(())
    }

    fn insert_candidate(&self, loader: &mut Loader, mut new: Candidate) {
        loader.arrivals += 1;
        let key = (new.offset, new.bytes, loader.arrivals);
        for (_, before) in loader.candidates.range(..key).rev() {
            if before.offset + before.bytes > new.offset {
                new.overlapped = true;
                break;
            }
            if !before.overlapped {
                break;
            }
        }
        for (_, after) in loader.candidates.range_mut(key..) {
            if after.offset >= new.offset + new.bytes {
                break;
            }
            after.overlapped = true;
        }
        loader.candidates.insert(key, new);
    }

    /// Checks the data CRC of a node that was not checked yet. The data up to the end of the header's page were
    /// included when the header was read.
    fn candidate_ok(&mut self, candidate: &Candidate) -> Result<bool> {
        let id = candidate.node;
        if self.refs[id].state() != NodeState::Unchecked {
            return Ok(true);
        }
        let data_at = self.refs[id].offset() + INODE_BYTES;
        let seen = (self.page_bytes - data_at % self.page_bytes) % self.page_bytes;
        if seen < candidate.compressed_bytes {
            let rest = (candidate.compressed_bytes - seen) as usize;
            let mut data = std::mem::take(&mut self.scratch);
            let read = self.flash_read(data_at + seen, &mut data[..rest]);
            self.sim.work(Work::Crc, rest);
            let crc = crc32(candidate.partial_crc, &data[..rest]);
            self.scratch = data;
            read?;
            if crc != candidate.data_crc {
                return Ok(false);
            }
        }
        self.mark_checked(id, NodeState::Pristine);
        Ok(true)
    }

    /// Builds the fragment map from the remaining candidates and takes the attributes from the newest node.
    fn finish_load(&mut self, loader: &mut Loader, checking: bool) -> Result<()> {
        let mut newest = loader.metadata.map_or((0, NONE), |m| (m.version, m.node));
        let mut run: Vec<Candidate> = Vec::new();
        while let Some((_, last)) = loader.candidates.pop_last() {
            run.push(last);
            if last.overlapped && !loader.candidates.is_empty() {
                continue;
            }
            run.sort_by_key(|c| c.version);
            for candidate in run.drain(..) {
                if !self.candidate_ok(&candidate)? {
                    self.mark_obsolete(candidate.node);
                    continue;
                }
                if candidate.version > newest.0 {
                    newest = (candidate.version, candidate.node);
                }
                self.refs[candidate.node].set_covered(candidate.offset, candidate.bytes);
                loader.inode.fragments.add(self, candidate.node);
            }
        }
        if let Some(metadata) = loader.metadata {
            if metadata.node == newest.1 {
                self.refs[metadata.node].set_covered(0, 0);
                loader.inode.metadata = metadata.node;
            } else {
                self.mark_obsolete(metadata.node);
            }
        }
        if newest.1 == NONE {
            // The root directory has no inode node until its attributes change.
            return if loader.inode.ino == 1 || loader.has_dirents { Ok(()) } else { Err(Errno::Io) };
        }
        self.take_attributes(loader, newest.1, checking)
    }

    fn take_attributes(&mut self, loader: &mut Loader, newest: RefId, checking: bool) -> Result<()> {
        let mut header = [0u8; INODE_BYTES as usize];
        self.flash_read(self.refs[newest].offset(), &mut header)?;
        let raw = RawInode::decode(self.endian, &header).ok_or(Errno::Io)?;
        let kind = FileKind::from_mode(raw.mode).ok_or(Errno::Io)?;
        let inode = &mut loader.inode;
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
                if loader.latest_dirent.0 > raw.version {
                    inode.changed_s = loader.latest_dirent.1;
                    inode.modified_s = loader.latest_dirent.1;
                }
            }
            FileKind::File => inode.file_bytes = inode.fragments.truncate(self, raw.file_bytes),
            FileKind::Symlink | FileKind::CharDevice | FileKind::BlockDevice => {
                // The single data node of such an inode serves as the node with the attributes.
                if inode.metadata != NONE || inode.fragments.len() != 1 {
                    return Err(Errno::Io);
                }
                let bytes = raw.compressed_bytes as usize;
                if bytes > NAME_BYTES_MAX {
                    return Err(Errno::NameTooLong);
                }
                let only = inode.fragments.drain().next().map_or(NONE, |f| f.node);
                inode.metadata = only;
                if !checking {
                    let mut data = vec![0; bytes];
                    self.flash_read(self.refs[newest].offset() + INODE_BYTES, &mut data)?;
                    if kind == FileKind::Symlink {
                        inode.file_bytes = bytes as u32;
                        inode.target = data;
                    } else {
                        inode.device = decode_device(self.endian, &data);
                    }
                }
            }
            FileKind::Fifo | FileKind::Socket => {}
        }
        Ok(())
    }

    /// Removes an inode from memory. Its nodes on flash stay valid.
    pub fn forget_inode(&mut self, inode: &mut Inode) {
        for fragment in inode.fragments.drain() {
            self.forget_fragment(fragment.node);
        }
        let metadata = std::mem::replace(&mut inode.metadata, NONE);
        if metadata != NONE {
            self.refs[metadata].leave_memory();
        }
        for (_, dirent) in inode.dirents.iter() {
            self.refs[dirent.node].leave_memory();
        }
    }

    fn forget_fragment(&mut self, id: RefId) {
        if id == NONE {
            return;
        }
        let node = &mut self.refs[id];
        node.fragments_or_slot -= 1;
        if node.fragments_or_slot == 0 {
            node.leave_memory();
        }
    }

    /// Checks all nodes of an inode after the mount. The inode does not stay in memory.
    pub fn check_inode(&mut self, ino: u32) -> Result<()> {
        let checked = self.load_inode(ino, true);
        if let Some(cache) = self.inode_caches.get_mut(&ino) {
            cache.state = InodeState::CheckedAbsent;
        }
        match checked {
            Ok(mut inode) => {
                self.forget_inode(&mut inode);
                Ok(())
            }
            Err(Errno::PowerCut) => Err(Errno::PowerCut),
            // A damaged inode is not reported here but when somebody uses it.
            Err(_) => Ok(()),
        }
    }
}
