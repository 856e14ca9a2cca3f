//! Room in a head for nodes, and writing data, inodes, truncations.
//!
//! Follows `fs/ubifs/journal.c`.

use crate::core::Core;
use crate::error::{Fail, Res, NOT_FOUND, NO_SPACE};
use crate::find::PickFree;
use crate::format::*;
use crate::inode::Inode;
use crate::key::Key;
use crate::leb::Lebs;
use crate::node::NodeAt;
use crate::options::KernelRules;

const COMMITS_MAX: u32 = 128;

impl Core {
    /// Makes sure that a head has room for `len` bytes; garbage collection and commits run if they must
    /// (`make_reservation`).
    pub fn reserve(&mut self, head: usize, len: u32) -> Res<()> {
        let mut no_space = 0;
        for _ in 0..=COMMITS_MAX {
            match self.reserve_space(head, len) {
                Err(NO_SPACE) if no_space < 2 => no_space += 1,
                Err(Fail::Again) => {}
                result => return result,
            }
            self.run_commit()?;
        }
        Err(NO_SPACE)
    }

    /// [`Fail::Again`]: a commit must run first.
    fn reserve_space(&mut self, head: usize, len: u32) -> Res<()> {
        let squeeze = head == BASE_HEAD;
        let mut retries = 0;
        loop {
            self.lebs.check_writable()?;
            if self.journal.heads[head].lnum.is_some() && self.journal.heads[head].space(&self.lebs.geo) >= len {
                return Ok(());
            }
            let (lnum, offs) = match self.space.find_free_space(&mut self.lebs, len, squeeze) {
                Ok(found) => found,
                Err(NO_SPACE) => match self.collect_garbage(PickFree::Yes) {
                    Ok(lnum) => {
                        // Garbage collection itself may have moved this head to a LEB with room.
                        if self.journal.heads[head].lnum.is_some()
                            && self.journal.heads[head].space(&self.lebs.geo) >= len
                        {
                            return self.space.return_leb(&self.lebs, lnum);
                        }
                        (lnum, 0)
                    }
                    Err(NO_SPACE) if retries < 2 => {
                        retries += 1;
                        continue;
                    }
                    Err(fail) => return Err(fail),
                },
                Err(fail) => return Err(fail),
            };
            if let Err(fail) = self.begin_bud(head, lnum, offs) {
                self.space.return_leb(&self.lebs, lnum)?;
                return Err(fail);
            }
            self.journal.heads[head].seek(&self.lebs.geo, lnum, offs);
            return Ok(());
        }
    }

    /// Ends the bud that a head writes and notes the next one in the log. 2.6.37 writes the rest of the old bud last, when the buffer
    /// moves (`ubifs_wbuf_seek_nolock` of `fs/ubifs/io.c`), so a power cut could leave a log that names a bud whose predecessor is
    /// not whole; since 3.0 the buffer is written first (`reserve_space` of `fs/ubifs/journal.c`).
    fn begin_bud(&mut self, head: usize, lnum: u32, offs: u32) -> Res<()> {
        let Core { journal, lebs, space, commits, rules, .. } = self;
        match rules {
            KernelRules::V2_6 => {
                journal.add_bud_to_log(lebs, commits, head, lnum, offs)?;
                journal.sync_head(lebs, space, head)
            }
            KernelRules::V6_1 => {
                journal.sync_head(lebs, space, head)?;
                journal.add_bud_to_log(lebs, commits, head, lnum, offs)
            }
        }
    }

    /// Writes what waits in the buffer of the base head.
    pub fn sync_base_head(&mut self) -> Res<()> {
        let synced = self.journal.sync_head(&mut self.lebs, &mut self.space, BASE_HEAD);
        synced.map_err(|fail| self.lebs.fatal(fail))
    }

    /// Appends nodes to a head that has room for them. Returns LEB and offset of the first one.
    pub fn append(&mut self, head: usize, nodes: &[u8]) -> Res<(u32, u32)> {
        let h = &self.journal.heads[head];
        let place = (h.lnum.ok_or(NO_SPACE)?, h.next_offs());
        self.journal
            .write_head(&mut self.lebs, &mut self.space, &mut self.commits, head, nodes)
            .map_err(|fail| self.lebs.fatal(fail))?;
        Ok(place)
    }

    /// Runs a change of the index after its nodes were written; an error is fatal.
    pub fn index_change<R>(&mut self, change: impl FnOnce(&mut Core) -> Res<R>) -> Res<R> {
        change(self).map_err(|fail| self.lebs.fatal(fail))
    }

    /// Writes a page of a file (`ubifs_jnl_write_data`).
    pub fn write_data(&mut self, ino: u32, block: u32, plain: &[u8], compression: u16) -> Res<()> {
        let key = Key::data(ino, block);
        let mut node = std::mem::take(&mut self.data_buffer);
        node.clear();
        node.resize(DATA_BYTES as usize, 0);
        key.write_in_node(&mut node, KEY_AT);
        put_u32(&mut node, data::SIZE, plain.len() as u32);
        let mut compressor = std::mem::take(&mut self.compressor);
        match compressor.compress(&self.lebs.sim, compression, plain) {
            Some(stored) => {
                put_u16(&mut node, data::COMPR_TYPE, compression);
                node.extend_from_slice(stored);
            }
            None => node.extend_from_slice(plain),
        }
        self.compressor = compressor;
        let result = self.write_data_node(key, &mut node);
        self.data_buffer = node;
        result
    }

    fn write_data_node(&mut self, key: Key, node: &mut [u8]) -> Res<()> {
        let len = node.len() as u32;
        self.reserve(DATA_HEAD, len)?;
        self.lebs.finish_node(node, len, DATA_NODE, NO_GROUP);
        let (lnum, offs) = self.append(DATA_HEAD, node)?;
        self.journal.heads[DATA_HEAD].note_inode(key.ino);
        self.index_change(|core| core.tnc_add(key, NodeAt { lnum, offs, len }))
    }

    /// Appends an inode node to `nodes`, aligned; returns its length.
    pub fn pack_inode(&mut self, nodes: &mut Vec<u8>, inode: &Inode, last: bool) -> u32 {
        let from = nodes.len();
        let data: &[u8] = if inode.links == 0 { &[] } else { &inode.data };
        let len = INO_BYTES + data.len() as u32;
        nodes.resize(from + align8(len) as usize, 0);
        let node = &mut nodes[from..];
        Key::inode(inode.ino).write_in_node(node, KEY_AT);
        inode.pack(node);
        node[ino::DATA..ino::DATA + data.len()].copy_from_slice(data);
        self.lebs.finish_node(node, len, INO_NODE, if last { LAST_OF_GROUP } else { IN_GROUP });
        len
    }

    /// Writes an inode (`ubifs_jnl_write_inode`). One without links is deleted with all that belongs to it.
    pub fn write_inode_node(&mut self, inode: &Inode, attributes: &[Inode]) -> Res<()> {
        let is_last = inode.links == 0;
        let mut len = INO_BYTES + if is_last { 0 } else { inode.data.len() as u32 };
        if is_last {
            len += INO_BYTES * attributes.len() as u32;
        }
        self.reserve(BASE_HEAD, len)?;
        let mut nodes = Vec::new();
        if is_last {
            for attribute in attributes {
                self.pack_inode(&mut nodes, attribute, false);
            }
        }
        let node_len = self.pack_inode(&mut nodes, inode, true);
        nodes.truncate(len as usize);
        let (lnum, offs) = self.append(BASE_HEAD, &nodes)?;
        self.journal.heads[BASE_HEAD].note_inode(inode.ino);
        let ino = inode.ino;
        self.index_change(|core| {
            if is_last {
                core.tnc_remove_ino(ino)?;
                core.journal.orphans.delete(ino);
                core.space.add_dirt(&core.lebs, lnum, len)
            } else {
                core.tnc_add(Key::inode(ino), NodeAt { lnum, offs, len: node_len })
            }
        })
    }

    /// Deletes an inode without links (`ubifs_jnl_delete_inode`). Nothing is written when the inode lost its last name
    /// since the last commit: the journal holds an inode node without links already, and a replay would delete the
    /// inode.
    pub fn delete_inode(&mut self, inode: &Inode, attributes: &[Inode]) -> Res<()> {
        if !attributes.is_empty() || inode.deleted_in != self.commits.number {
            return self.write_inode_node(inode, attributes);
        }
        let ino = inode.ino;
        self.index_change(|core| core.tnc_remove_ino(ino))?;
        self.journal.orphans.delete(ino);
        Ok(())
    }

    /// Makes a file shorter (`ubifs_jnl_truncate`); `inode` has the new size already. The data node of the last block
    /// that remains is written anew if it reaches beyond the new end of the file.
    pub fn write_truncation(&mut self, inode: &Inode, old_bytes: u64, new_bytes: u64) -> Res<()> {
        let ino = inode.ino;
        let kept = (new_bytes % u64::from(BLOCK_BYTES)) as usize;
        let last = Key::data(ino, (new_bytes >> BLOCK_SHIFT) as u32);
        let tail = if kept > 0 { self.cut_data_node(last, kept)? } else { None };
        let tail_len = tail.as_ref().map_or(0, |node| node.len() as u32);
        let len = INO_BYTES + TRUN_BYTES + tail_len;
        self.reserve(BASE_HEAD, len)?;
        let mut nodes = Vec::new();
        self.pack_inode(&mut nodes, inode, false);
        let from = nodes.len();
        nodes.resize(from + TRUN_BYTES as usize, 0);
        put_u32(&mut nodes[from..], trun::INUM, ino);
        put_u64(&mut nodes[from..], trun::OLD_SIZE, old_bytes);
        put_u64(&mut nodes[from..], trun::NEW_SIZE, new_bytes);
        let group = if tail.is_some() { IN_GROUP } else { LAST_OF_GROUP };
        self.lebs.finish_node(&mut nodes[from..], TRUN_BYTES, TRUN_NODE, group);
        if let Some(mut node) = tail {
            self.lebs.finish_node(&mut node, tail_len, DATA_NODE, LAST_OF_GROUP);
            nodes.extend_from_slice(&node);
        }
        let (lnum, offs) = self.append(BASE_HEAD, &nodes)?;
        self.journal.heads[BASE_HEAD].note_inode(ino);
        self.index_change(|core| {
            if tail_len > 0 {
                core.tnc_add(last, NodeAt { lnum, offs: offs + INO_BYTES + TRUN_BYTES, len: tail_len })?;
            }
            core.tnc_add(Key::inode(ino), NodeAt { lnum, offs, len: INO_BYTES })?;
            core.space.add_dirt(&core.lebs, lnum, TRUN_BYTES)?;
            let (first, end) = (new_bytes.div_ceil(u64::from(BLOCK_BYTES)), old_bytes.div_ceil(u64::from(BLOCK_BYTES)));
            match end.checked_sub(1) {
                Some(to) if to >= first => {
                    core.tnc_remove_range(Key::data(ino, first as u32), Key::data(ino, to as u32))
                }
                _ => Ok(()),
            }
        })
    }

    /// Reads the data node of a block and cuts it to `kept` bytes; the caller finishes its header. `None`: the node
    /// holds no more than `kept` bytes, or there is no node.
    fn cut_data_node(&mut self, key: Key, kept: usize) -> Res<Option<Vec<u8>>> {
        let mut node = Vec::new();
        match self.locate(key, &mut node) {
            Ok(_) => {}
            Err(NOT_FOUND) => return Ok(None),
            Err(fail) => return Err(fail),
        }
        let size = get_u32(&node, data::SIZE) as usize;
        if size == 0 || size > BLOCK_BYTES as usize {
            return Err(Fail::corrupt("bad size in a data node"));
        }
        if size <= kept {
            return Ok(None);
        }
        let kind = get_u16(&node, data::COMPR_TYPE);
        let mut plain = vec![0; BLOCK_BYTES as usize];
        let bytes = self.compressor.decompress(&self.lebs.sim, kind, &node[data::DATA..], &mut plain);
        if bytes.is_none_or(|bytes| bytes < kept) {
            return Err(Fail::corrupt("damaged data in a data node"));
        }
        node.truncate(data::DATA);
        put_u32(&mut node, data::SIZE, kept as u32);
        match self.compressor.compress(&self.lebs.sim, kind, &plain[..kept]) {
            Some(stored) => node.extend_from_slice(stored),
            None => {
                put_u16(&mut node, data::COMPR_TYPE, crate::compress::COMPR_NONE);
                node.extend_from_slice(&plain[..kept]);
            }
        }
        Ok(Some(node))
    }
}

impl Lebs {
    /// Makes the file system read-only after an error in the middle of a change, when memory and flash may disagree.
    pub fn fatal(&mut self, fail: Fail) -> Fail {
        self.read_only = true;
        fail
    }
}
