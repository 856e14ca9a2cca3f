//! The fragment map of a file: which node holds which bytes.
//!
//! Follows `fs/jffs2/nodelist.c` (`jffs2_add_frag_to_fragtree`, `jffs2_truncate_fragtree`). The map is ordered by file
//! offset.

use ffslab_fs::PAGE_BYTES;

use crate::flash::Flash;
use crate::fragment_list::{Fragment, FragmentList};
use crate::refs::{NodeState, RefId, NONE};
use crate::space::Space;

const PAGE: u32 = PAGE_BYTES as u32;

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

    /// How many fragments begin before `offset`.
    pub fn count_before(&self, offset: u32) -> usize {
        self.list.count_before(offset)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Lets the fragments that begin in `start .. end` come from `new` instead of `old` (garbage collection copied the
    /// node, or rewrote a hole with its old version number). Returns how many there are.
    pub fn replace_node(&mut self, start: u32, end: u32, old: RefId, new: RefId) -> u32 {
        let mut count = 0;
        let mut at = start;
        while at < end {
            let Some(this) = self.list.starting_at(at).next().filter(|f| f.offset < end) else { break };
            if let Some(fragment) = self.list.get_mut(this.offset).filter(|f| f.node == old) {
                fragment.node = new;
                count += 1;
            }
            at = this.end();
        }
        count
    }

    /// Takes all fragments out, in order (used when the whole map goes).
    pub fn drain(&mut self) -> impl Iterator<Item = Fragment> {
        self.list.drain()
    }

    /// Adds the node `id`, which was just written, to the map. Older nodes lose the bytes that it covers
    /// (`jffs2_add_full_dnode_to_inode`).
    pub fn add(&mut self, space: &mut Space, flash: &Flash, id: RefId) {
        let (offset, bytes) = (space.refs[id].file_offset, space.refs[id].file_bytes);
        if bytes == 0 {
            return;
        }
        space.refs[id].fragments_or_slot = 1;
        self.insert(space, flash, Fragment { offset, bytes, node: id });
        // Garbage collection must not copy these nodes as they are: they share a memory page and may be merged.
        if offset % PAGE != 0 {
            mark_normal(space, id);
            if let Some(previous) = self.before(offset) {
                mark_normal(space, previous.node);
            }
        }
        if (offset + bytes) % PAGE != 0 {
            if let Some(next) = self.after(offset) {
                mark_normal(space, id);
                mark_normal(space, next.node);
            }
        }
    }

    fn insert(&mut self, space: &mut Space, flash: &Flash, new: Fragment) {
        // By far the most frequent case is a page that replaces a page; it needs only one search.
        if let Some(old) = self.list.get_mut(new.offset).filter(|old| old.bytes == new.bytes) {
            let superseded = std::mem::replace(&mut old.node, new.node);
            return release(space, flash, superseded);
        }
        let this = self.lookup(new.offset);
        let last_end = this.map_or(0, |f| f.end());
        if last_end <= new.offset {
            // The new fragment begins behind the last one, so nothing is overwritten.
            if let Some(this) = this {
                if (last_end - 1) / PAGE == new.offset / PAGE {
                    mark_normal(space, this.node);
                    mark_normal(space, new.node);
                }
            }
            if last_end < new.offset {
                self.list.insert(Fragment { offset: last_end, bytes: new.offset - last_end, node: NONE });
            }
            self.list.insert(new);
            return;
        }
        let Some(this) = this else { return };
        if new.offset > this.offset {
            // The start of `this` is still valid.
            mark_normal(space, new.node);
            mark_normal(space, this.node);
            self.list.insert(Fragment { offset: this.offset, bytes: new.offset - this.offset, node: this.node });
            self.list.insert(new);
            if this.end() > new.end() {
                // The end of `this` is still valid, too: it is split in two.
                self.list.insert(Fragment { offset: new.end(), bytes: this.end() - new.end(), node: this.node });
                if this.node != NONE {
                    space.refs[this.node].fragments_or_slot += 1;
                }
                return;
            }
        } else {
            self.list.insert(new);
            if new.end() >= this.end() {
                release(space, flash, this.node);
            } else {
                self.list.insert(Fragment { offset: new.end(), bytes: this.end() - new.end(), node: this.node });
                return;
            }
        }
        self.remove_overlapped(space, flash, new);
    }

    /// Removes the fragments that `new` covers. The last of them may lose only its beginning.
    fn remove_overlapped(&mut self, space: &mut Space, flash: &Flash, new: Fragment) {
        while let Some(this) = self.after(new.offset) {
            if this.offset >= new.end() {
                return;
            }
            self.list.remove(this.offset);
            if new.end() >= this.end() {
                release(space, flash, this.node);
                continue;
            }
            self.list.insert(Fragment { offset: new.end(), bytes: this.end() - new.end(), node: this.node });
            mark_normal(space, this.node);
            mark_normal(space, new.node);
            return;
        }
    }

    /// Cuts the file to `bytes`. Returns the remaining length, which is less than `bytes` if the file was shorter.
    pub fn truncate(&mut self, space: &mut Space, flash: &Flash, bytes: u32) -> u32 {
        if let Some(this) = self.lookup(bytes) {
            if this.offset < bytes && this.end() > bytes {
                self.list.insert(Fragment { offset: this.offset, bytes: bytes - this.offset, node: this.node });
            }
        }
        let next = |list: &FragmentList| list.starting_at(bytes).next();
        while let Some(this) = next(&self.list) {
            self.list.remove(this.offset);
            release(space, flash, this.node);
        }
        let Some(last) = self.last() else { return 0 };
        if bytes == 0 {
            return 0;
        }
        if last.end() < bytes {
            return last.end();
        }
        // A last fragment that begins at the start of a page can be copied as it is, like one of a whole page.
        if last.node != NONE && last.offset % PAGE == 0 {
            space.refs[last.node].set_state(NodeState::Pristine);
        }
        bytes
    }
}

fn mark_normal(space: &mut Space, id: RefId) {
    if id != NONE {
        space.refs[id].set_state(NodeState::Normal);
    }
}

/// Notes that a fragment of the node is gone. With its last fragment the node becomes obsolete
/// (`jffs2_obsolete_node_frag`).
pub fn release(space: &mut Space, flash: &Flash, id: RefId) {
    if id == NONE {
        return;
    }
    let node = &mut space.refs[id];
    if node.lose_fragment() {
        space.mark_obsolete(flash, id);
    } else {
        node.set_state(NodeState::Normal);
    }
}
