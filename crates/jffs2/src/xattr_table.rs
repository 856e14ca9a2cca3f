//! Extended attributes in memory: their names and values as far as they were read, and which inode has which.
//!
//! Follows `fs/jffs2/xattr.h` and the lists of `xattr.c`. A *datum* is a name with a value; inodes with the same name and
//! value share it. A *reference* says that an inode has a datum. Both have nodes on flash: the newest one heads a chain of
//! older ones, which stay until their blocks are erased.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::format::RawXattr;
use crate::refs::{NodeRefs, RefId, XattrOwner, NONE};

/// Number of lists of data in memory (`XATTRINDEX_HASHSIZE`).
pub const LISTS: usize = 57;
/// From so many bytes of names and values on, some of them leave memory (`xdatum_mem_threshold`).
const MEMORY_BYTES_MAX: u32 = 32 * 1024;

/// The name and the value of a datum, which are in memory.
#[derive(Clone, Debug)]
pub struct Content {
    /// Name, NUL, value, as on flash.
    pub bytes: Box<[u8]>,
    /// By which it is found when another inode gets the same (`xattr_datum_hashkey`).
    pub hash: u32,
}

/// `struct jffs2_xattr_datum`.
#[derive(Clone, Debug)]
pub struct Datum {
    pub node: RefId,
    /// That of its newest node; of one that only a summary has announced, no more than its number and version.
    pub header: RawXattr,
    pub content: Option<Content>,
    /// Number of references.
    pub uses: u32,
    /// No reference is left: garbage collection drops its nodes.
    pub is_dead: bool,
    /// A check sum was wrong.
    pub is_invalid: bool,
    /// Used since the last time that memory was short.
    pub is_hot: bool,
    /// Must not leave memory now.
    pub is_bound: bool,
}

impl Datum {
    /// A datum without nodes, which nobody uses yet.
    pub fn new(header: RawXattr) -> Datum {
        Datum {
            node: NONE,
            header,
            content: None,
            uses: 0,
            is_dead: false,
            is_invalid: false,
            is_hot: false,
            is_bound: false,
        }
    }

    /// Name without namespace and value, if they are in memory.
    pub fn parts(&self) -> Option<(&[u8], &[u8])> {
        let bytes = &self.content.as_ref()?.bytes;
        let (name, rest) = bytes.split_at(usize::from(self.header.name_bytes));
        // The name ends at its first NUL, which on a damaged medium may be in its middle.
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        Some((name, &rest[1..]))
    }
}

/// `struct jffs2_xattr_ref`.
#[derive(Clone, Debug)]
pub struct Reference {
    pub node: RefId,
    pub ino: u32,
    pub xid: u32,
    /// Which datum; [`NONE`] once the reference is dead.
    pub datum: u32,
    /// Odd: dead (`XREF_DELETE_MARKER`).
    pub sequence: u32,
}

impl Reference {
    pub fn is_dead(&self) -> bool {
        self.sequence & 1 != 0
    }
}

/// The references of an inode, the newest first.
#[derive(Clone, Debug, Default)]
pub struct OfInode {
    pub references: Vec<u32>,
    /// No name occurs twice (`INO_FLAGS_XATTR_CHECKED`).
    pub is_checked: bool,
}

/// Things with numbers, which are used anew.
#[derive(Debug)]
pub struct Arena<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Arena<T> {
    pub fn add(&mut self, thing: T) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = Some(thing);
                id
            }
            None => {
                self.slots.push(Some(thing));
                self.slots.len() as u32 - 1
            }
        }
    }

    pub fn get(&self, id: u32) -> Option<&T> {
        self.slots.get(id as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.slots.get_mut(id as usize)?.as_mut()
    }

    pub fn remove(&mut self, id: u32) {
        if self.slots.get_mut(id as usize).and_then(Option::take).is_some() {
            self.free.push(id);
        }
    }
}

#[derive(Debug)]
pub struct XattrTable {
    pub data: Arena<Datum>,
    pub references: Arena<Reference>,
    pub of_inode: FxHashMap<u32, OfInode>,
    /// Data in memory by hash, the newest first in each list.
    lists: Vec<VecDeque<u32>>,
    /// The list at which the next search for something to forget begins. The kernel has one such number for all file
    /// systems.
    forget_from: usize,
    memory_bytes: u32,
    /// Data whose nodes are still to be checked (`xattr_unchecked`), in that order.
    pub unchecked: VecDeque<u32>,
    pub highest_xid: u32,
    pub highest_sequence: u32,
}

impl Default for XattrTable {
    fn default() -> Self {
        XattrTable {
            data: Arena::default(),
            references: Arena::default(),
            of_inode: FxHashMap::default(),
            lists: vec![VecDeque::new(); LISTS],
            forget_from: 0,
            memory_bytes: 0,
            unchecked: VecDeque::new(),
            highest_xid: 0,
            highest_sequence: 0,
        }
    }
}

impl XattrTable {
    fn head(&mut self, owner: XattrOwner) -> Option<&mut RefId> {
        match owner {
            XattrOwner::Datum(id) => self.data.get_mut(id).map(|datum| &mut datum.node),
            XattrOwner::Reference(id) => self.references.get_mut(id).map(|reference| &mut reference.node),
        }
    }

    /// Makes a node the newest one of its owner.
    pub fn chain(&mut self, refs: &mut NodeRefs, node: RefId, owner: XattrOwner) {
        let Some(head) = self.head(owner) else { return };
        let older = std::mem::replace(head, node);
        if older != NONE {
            refs[older].previous_in_inode = node;
        }
        let new = &mut refs[node];
        new.set_xattr_owner(Some(owner));
        (new.next_in_inode, new.previous_in_inode) = (older, NONE);
    }

    /// Puts a node behind the newest one of its owner.
    pub fn chain_second(&mut self, refs: &mut NodeRefs, node: RefId, owner: XattrOwner) {
        let Some(&mut head) = self.head(owner).filter(|head| **head != NONE) else {
            return self.chain(refs, node, owner);
        };
        let third = std::mem::replace(&mut refs[head].next_in_inode, node);
        if third != NONE {
            refs[third].previous_in_inode = node;
        }
        let new = &mut refs[node];
        new.set_xattr_owner(Some(owner));
        (new.next_in_inode, new.previous_in_inode) = (third, head);
    }

    /// Takes a node out of its owner's chain. An owner that has lost its last node, and that nobody uses, is forgotten
    /// (`jffs2_release_xattr_datum`, `jffs2_release_xattr_ref`).
    pub fn unchain(&mut self, refs: &mut NodeRefs, node: RefId) {
        let Some(owner) = refs[node].xattr_owner() else { return };
        let (next, previous) = (refs[node].next_in_inode, refs[node].previous_in_inode);
        refs[node].set_xattr_owner(None);
        (refs[node].next_in_inode, refs[node].previous_in_inode) = (NONE, NONE);
        if next != NONE {
            refs[next].previous_in_inode = previous;
        }
        if previous != NONE {
            refs[previous].next_in_inode = next;
            return;
        }
        let Some(head) = self.head(owner) else { return };
        *head = next;
        if next != NONE {
            return;
        }
        match owner {
            XattrOwner::Datum(id) if self.data.get(id).is_some_and(|datum| datum.uses == 0) => self.forget(id),
            XattrOwner::Reference(id) if self.references.get(id).is_some_and(Reference::is_dead) => {
                self.references.remove(id)
            }
            // On a damaged medium a datum in use, or a live reference, may lose its nodes.
            _ => {}
        }
    }

    fn forget(&mut self, id: u32) {
        self.unload(id);
        self.unchecked.retain(|&other| other != id);
        self.data.remove(id);
    }

    /// Notes name and value of a datum, which are in memory now.
    pub fn keep(&mut self, id: u32, bytes: Box<[u8]>, hash: u32) {
        let Some(datum) = self.data.get_mut(id) else { return };
        self.memory_bytes += bytes.len() as u32;
        datum.content = Some(Content { bytes, hash });
        datum.is_hot = true;
        self.lists[hash as usize % LISTS].push_front(id);
    }

    /// Forgets name and value of a datum.
    pub fn unload(&mut self, id: u32) {
        let Some(content) = self.data.get_mut(id).and_then(|datum| datum.content.take()) else { return };
        self.memory_bytes -= content.bytes.len() as u32;
        let list = &mut self.lists[content.hash as usize % LISTS];
        if let Some(at) = list.iter().position(|&other| other == id) {
            list.remove(at);
        }
    }

    /// A datum in memory with this namespace, name, NUL and value.
    pub fn find(&self, prefix: u8, bytes: &[u8], hash: u32) -> Option<u32> {
        let same = |id: &u32| {
            self.data.get(*id).is_some_and(|datum| {
                let content = datum.content.as_ref();
                datum.header.prefix == prefix && content.is_some_and(|c| c.hash == hash && *c.bytes == *bytes)
            })
        };
        self.lists[hash as usize % LISTS].iter().copied().find(same)
    }

    /// Forgets a fifth of the names and values in memory when there are too many; those used since the last time stay once
    /// more (`reclaim_xattr_datum`).
    pub fn shrink(&mut self) {
        if MEMORY_BYTES_MAX > self.memory_bytes {
            return;
        }
        let target = self.memory_bytes * 4 / 5;
        for _ in 0..LISTS {
            let list: Vec<u32> = self.lists[self.forget_from].iter().copied().collect();
            for id in list {
                let Some(datum) = self.data.get_mut(id) else { continue };
                let stays = std::mem::take(&mut datum.is_hot) || datum.is_bound;
                if !stays {
                    self.unload(id);
                }
                if self.memory_bytes <= target {
                    return;
                }
            }
            self.forget_from = (self.forget_from + 1) % LISTS;
        }
    }

    /// Notes the number of a reference found on flash. A mark of a deletion counts as the reference before it.
    pub fn note_sequence(&mut self, sequence: u32) {
        if sequence > self.highest_sequence {
            self.highest_sequence = sequence & !1;
        }
    }

    /// The datum of a reference that is alive.
    pub fn datum_of(&self, reference: u32) -> Option<&Datum> {
        self.data.get(self.references.get(reference)?.datum)
    }

    /// The references of an inode, the newest first.
    pub fn references_of(&self, ino: u32) -> &[u32] {
        self.of_inode.get(&ino).map_or(&[], |of| &of.references)
    }

    /// Takes a reference out of its inode's list.
    pub fn detach(&mut self, ino: u32, reference: u32) {
        if let Some(of) = self.of_inode.get_mut(&ino) {
            of.references.retain(|&other| other != reference);
        }
    }

    /// Marks a reference that is in no list any more as dead. Nothing is written: its nodes stay until garbage collection
    /// meets them (`delete_xattr_ref`).
    pub fn kill(&mut self, reference: u32) {
        let Some(dead) = self.references.get_mut(reference) else { return };
        dead.sequence |= 1;
        let datum = std::mem::replace(&mut dead.datum, NONE);
        if dead.node == NONE {
            self.references.remove(reference);
        }
        self.release(datum);
    }

    /// Counts a user of a datum less (`unrefer_xattr_datum`).
    pub fn release(&mut self, id: u32) {
        let Some(datum) = self.data.get_mut(id) else { return };
        datum.uses = datum.uses.saturating_sub(1);
        if datum.uses > 0 {
            return;
        }
        datum.is_dead = true;
        let nothing_left = datum.node == NONE;
        self.unload(id);
        if nothing_left {
            self.forget(id);
        }
    }

    /// All attributes of a deleted inode die (`jffs2_xattr_delete_inode`).
    pub fn delete_inode(&mut self, ino: u32) {
        for reference in self.of_inode.remove(&ino).map(|of| of.references).unwrap_or_default() {
            self.kill(reference);
        }
    }
}
