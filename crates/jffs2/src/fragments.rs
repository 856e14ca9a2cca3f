//! The fragment map of a file: which node holds which bytes.
//!
//! Follows `fs/jffs2/nodelist.c` (`jffs2_add_frag_to_fragtree`, `jffs2_truncate_fragtree`). The map is ordered by file
//! offset.

use ffslab_fs::PAGE_BYTES;

use crate::fragment_list::FragmentList;
use crate::refs::{DnodeId, NodeState, NONE};
use crate::store::Store;

const PAGE: u32 = PAGE_BYTES as u32;

/// A run of bytes of the file that comes from one node, or from none (a hole).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    pub offset: u32,
    pub bytes: u32,
    /// [`NONE`] for a hole that no node covers.
    pub dnode: DnodeId,
}

impl Fragment {
    pub fn end(&self) -> u32 {
        self.offset + self.bytes
    }
}

#[derive(Default)]
pub struct FragmentMap {
    list: FragmentList,
}

impl FragmentMap {
    /// The fragment that covers `offset`, or else the last one before it.
    pub fn lookup(&self, offset: u32) -> Option<Fragment> {
        self.list.at_or_before(offset)
    }

    pub fn last(&self) -> Option<Fragment> {
        self.list.last()
    }

    pub fn after(&self, offset: u32) -> Option<Fragment> {
        self.list.starting_at(offset.checked_add(1)?).next()
    }

    pub fn before(&self, offset: u32) -> Option<Fragment> {
        self.list.at_or_before(offset.checked_sub(1)?)
    }

    /// Fragments that start at `from` or later, in order.
    pub fn starting_at(&self, from: u32) -> impl Iterator<Item = Fragment> + '_ {
        self.list.starting_at(from)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Lets a fragment come from another node (garbage collection rewrote a hole with its old version number).
    pub fn replace_node(&mut self, offset: u32, dnode: DnodeId) {
        if let Some(fragment) = self.list.get_mut(offset) {
            fragment.dnode = dnode;
        }
    }

    /// Takes all fragments out, in order (used when the whole map goes).
    pub fn drain(&mut self) -> impl Iterator<Item = Fragment> {
        self.list.drain()
    }

    /// The node `id` now holds its bytes; older nodes lose what it covers (`jffs2_add_full_dnode_to_inode`).
    pub fn add(&mut self, store: &mut Store, id: DnodeId) {
        let (offset, bytes) = (store.dnodes[id].offset, store.dnodes[id].bytes);
        if bytes == 0 {
            return;
        }
        store.dnodes[id].fragments = 1;
        self.insert(store, Fragment { offset, bytes, dnode: id });
        // Nodes that share a memory page must be looked at by garbage collection.
        if offset % PAGE != 0 {
            mark_normal(store, id);
            if let Some(previous) = self.before(offset) {
                mark_normal(store, previous.dnode);
            }
        }
        if (offset + bytes) % PAGE != 0 {
            if let Some(next) = self.after(offset) {
                mark_normal(store, id);
                mark_normal(store, next.dnode);
            }
        }
    }

    fn insert(&mut self, store: &mut Store, new: Fragment) {
        // By far the most frequent case, a page for a page, needs one search.
        if let Some(old) = self.list.get_mut(new.offset).filter(|old| old.bytes == new.bytes) {
            let old = std::mem::replace(old, new);
            return release(store, old.dnode);
        }
        let this = self.lookup(new.offset);
        let last_end = this.map_or(0, |f| f.end());
        if last_end <= new.offset {
            // Nothing there yet, up to the end of what exists.
            if let Some(this) = this {
                if (last_end - 1) / PAGE == new.offset / PAGE {
                    mark_normal(store, this.dnode);
                    mark_normal(store, new.dnode);
                }
            }
            if last_end < new.offset {
                self.list.insert(Fragment { offset: last_end, bytes: new.offset - last_end, dnode: NONE });
            }
            self.list.insert(new);
            return;
        }
        let Some(this) = this else { return };
        if new.offset > this.offset {
            // The start of `this` remains.
            mark_normal(store, new.dnode);
            mark_normal(store, this.dnode);
            self.list.insert(Fragment { offset: this.offset, bytes: new.offset - this.offset, dnode: this.dnode });
            self.list.insert(new);
            if this.end() > new.end() {
                // Its end, too: it is split in two.
                self.list.insert(Fragment { offset: new.end(), bytes: this.end() - new.end(), dnode: this.dnode });
                if this.dnode != NONE {
                    store.dnodes[this.dnode].fragments += 1;
                }
                return;
            }
        } else {
            self.list.insert(new);
            if new.end() >= this.end() {
                release(store, this.dnode);
            } else {
                self.list.insert(Fragment { offset: new.end(), bytes: this.end() - new.end(), dnode: this.dnode });
                return;
            }
        }
        self.remove_overlapped(store, new);
    }

    /// Removes what `new` covers behind its start; a last fragment may lose only its beginning.
    fn remove_overlapped(&mut self, store: &mut Store, new: Fragment) {
        while let Some(this) = self.after(new.offset) {
            if this.offset >= new.end() {
                return;
            }
            self.list.remove(this.offset);
            if new.end() >= this.end() {
                release(store, this.dnode);
                continue;
            }
            self.list.insert(Fragment { offset: new.end(), bytes: this.end() - new.end(), dnode: this.dnode });
            mark_normal(store, this.dnode);
            mark_normal(store, new.dnode);
            return;
        }
    }

    /// Cuts the file to `bytes`; returns the length that is left (less if the file was shorter).
    pub fn truncate(&mut self, store: &mut Store, bytes: u32) -> u32 {
        if let Some(this) = self.lookup(bytes) {
            if this.offset < bytes && this.end() > bytes {
                self.list.insert(Fragment { offset: this.offset, bytes: bytes - this.offset, dnode: this.dnode });
            }
        }
        let next = |list: &FragmentList| list.starting_at(bytes).next();
        while let Some(this) = next(&self.list) {
            self.list.remove(this.offset);
            release(store, this.dnode);
        }
        let Some(last) = self.last() else { return 0 };
        if bytes == 0 {
            return 0;
        }
        if last.end() < bytes {
            return last.end();
        }
        // A last fragment that starts at a page's start is as good as a whole page.
        if last.dnode != NONE && last.offset % PAGE == 0 {
            let node = store.dnodes[last.dnode].node;
            store.refs[node].set_state(NodeState::Pristine);
        }
        bytes
    }
}

fn mark_normal(store: &mut Store, id: DnodeId) {
    if id != NONE {
        let node = store.dnodes[id].node;
        store.refs[node].set_state(NodeState::Normal);
    }
}

/// A fragment of the node is gone. The last one takes the node with it (`jffs2_obsolete_node_frag`).
pub fn release(store: &mut Store, id: DnodeId) {
    if id == NONE {
        return;
    }
    store.dnodes[id].fragments -= 1;
    if store.dnodes[id].fragments == 0 {
        let node = store.dnodes[id].node;
        store.refs[node].dnode = NONE;
        store.mark_obsolete(node);
        store.dnodes.release(id);
    } else {
        mark_normal(store, id);
    }
}
