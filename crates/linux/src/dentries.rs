//! The directory entry cache: names that were looked up, each with its inode or with the knowledge that the name does
//! not exist (`fs/dcache.c`). The cache decides which look-ups reach the file system.

use ffslab_fs::{FileKind, Ino};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(crate) type DentryId = u32;

/// The mount's root directory.
pub(crate) const ROOT: DentryId = 0;

struct Dentry {
    /// The root is its own parent.
    parent: DentryId,
    name: Rc<[u8]>,
    /// `None`: a negative entry, the name is known not to exist.
    inode: Option<(Ino, FileKind)>,
    /// Whether a look-up can find the entry. An entry that lost its name while it was in use is not hashed any more.
    hashed: bool,
    /// Number of users: open descriptors, and entries below this one that are not hashed any more.
    users: u32,
    /// Its place in the list of unused entries (`DCACHE_LRU_LIST`). It may have got users since it was listed.
    listed: Option<u64>,
    /// It has been used again since it was listed or spared (`DCACHE_REFERENCED`).
    referenced: bool,
    children: FxHashMap<Rc<[u8]>, DentryId>,
}

pub(crate) struct Dentries {
    all: Vec<Dentry>,
    free: Vec<DentryId>,
    /// Entries that were put back by their last users, in that order.
    list: BTreeMap<u64, DentryId>,
    /// How often an entry was listed.
    listings: u64,
}

impl Dentries {
    pub fn new(root: Ino) -> Self {
        let root = Dentry {
            parent: ROOT,
            name: Rc::from(&b""[..]),
            inode: Some((root, FileKind::Directory)),
            hashed: true,
            users: 1,
            listed: None,
            referenced: false,
            children: FxHashMap::default(),
        };
        Self { all: vec![root], free: Vec::new(), list: BTreeMap::new(), listings: 0 }
    }

    pub fn inode(&self, id: DentryId) -> Option<(Ino, FileKind)> {
        self.all[id as usize].inode
    }

    pub fn parent(&self, id: DentryId) -> DentryId {
        self.all[id as usize].parent
    }

    pub fn name(&self, id: DentryId) -> Rc<[u8]> {
        self.all[id as usize].name.clone()
    }

    pub fn is_used(&self, id: DentryId) -> bool {
        self.all[id as usize].users > 0
    }

    /// Whether a look-up can find the entry: `false` when its name was removed while it was in use.
    pub fn is_hashed(&self, id: DentryId) -> bool {
        self.all[id as usize].hashed
    }

    pub fn child(&self, directory: DentryId, name: &[u8]) -> Option<DentryId> {
        self.all[directory as usize].children.get(name).copied()
    }

    pub fn add(&mut self, parent: DentryId, name: &[u8], inode: Option<(Ino, FileKind)>) -> DentryId {
        let name: Rc<[u8]> = Rc::from(name);
        let dentry = Dentry {
            parent,
            name: name.clone(),
            inode,
            hashed: true,
            users: 0,
            listed: None,
            referenced: false,
            children: FxHashMap::default(),
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.all[id as usize] = dentry;
                id
            }
            None => {
                self.all.push(dentry);
                (self.all.len() - 1) as DentryId
            }
        };
        self.all[parent as usize].children.insert(name, id);
        id
    }

    /// An entry that no look-up finds, for a file without a name (`d_tmpfile`).
    pub fn add_unnamed(&mut self, directory: DentryId, inode: (Ino, FileKind)) -> DentryId {
        let id = self.add(directory, b"", Some(inode));
        self.unhash(id);
        id
    }

    pub fn set_inode(&mut self, id: DentryId, inode: (Ino, FileKind)) {
        self.all[id as usize].inode = Some(inode);
    }

    pub fn hold(&mut self, id: DentryId) {
        self.all[id as usize].users += 1;
    }

    /// Ends [`Dentries::hold`]. Returns the inodes that lost their last entry by this: that of the entry itself, if its
    /// name was removed before, and then those of removed directories that were kept only for this entry.
    pub fn release(&mut self, id: DentryId) -> Vec<(Ino, FileKind)> {
        let mut gone = Vec::new();
        let mut id = id;
        loop {
            let dentry = &mut self.all[id as usize];
            dentry.users -= 1;
            if dentry.users > 0 || dentry.hashed {
                self.put_back(id);
                return gone;
            }
            gone.extend(dentry.inode);
            let parent = dentry.parent;
            self.discard(id);
            id = parent;
        }
    }

    /// A call that has used the entry ends (`dput`, `retain_dentry`). One that nobody else uses is listed as unused; one that
    /// is listed already is spared by the next walk over the list.
    pub fn put_back(&mut self, id: DentryId) {
        let dentry = &mut self.all[id as usize];
        if id == ROOT || !dentry.hashed || dentry.users > 0 || !dentry.children.is_empty() {
            return;
        }
        match dentry.listed {
            Some(_) => dentry.referenced = true,
            None => self.list_last(id),
        }
    }

    fn list_last(&mut self, id: DentryId) {
        self.listings += 1;
        self.list.insert(self.listings, id);
        self.all[id as usize].listed = Some(self.listings);
    }

    fn unlist(&mut self, id: DentryId) {
        let dentry = &mut self.all[id as usize];
        dentry.referenced = false;
        if let Some(place) = dentry.listed.take() {
            self.list.remove(&place);
        }
    }

    pub fn listed_count(&self) -> usize {
        self.list.len()
    }

    /// Walks over the first `count` entries of the list (`prune_dcache_sb`): one that was used again is spared and moves to the
    /// list's end, the others leave it, and memory unless they have users. Directories whose last entry has gone go, too.
    /// Returns how many have left the list, and the inodes of those that have left memory.
    pub fn prune(&mut self, count: usize) -> (usize, Vec<Ino>) {
        let (mut left, mut dead) = (0, Vec::new());
        // The walk knows the next entry before it looks at one, so the last one of the list, once moved, ends it.
        let mut next = self.list.first_key_value().map(|(&place, &id)| (place, id));
        for _ in 0..count {
            let Some((place, id)) = next else { break };
            next = self.list.range(place + 1..).next().map(|(&place, &id)| (place, id));
            let spared = std::mem::take(&mut self.all[id as usize].referenced);
            let in_use = self.is_used(id) || !self.all[id as usize].children.is_empty();
            self.unlist(id);
            if spared && !in_use {
                self.list_last(id);
                continue;
            }
            left += 1;
            if !in_use {
                dead.push(id);
            }
        }
        (left, dead.into_iter().flat_map(|id| self.kill(id)).collect())
    }

    /// An entry leaves memory, and each directory above it that has no other entry and no user (`shrink_dentry_list`).
    fn kill(&mut self, id: DentryId) -> Vec<Ino> {
        let mut inodes = Vec::new();
        let mut id = id;
        while id != ROOT && !self.is_used(id) && self.all[id as usize].children.is_empty() {
            let parent = self.parent(id);
            inodes.extend(self.inode(id).map(|(ino, _)| ino));
            self.detach(id);
            self.discard(id);
            id = parent;
        }
        inodes
    }

    /// The inodes of all entries.
    pub fn inodes(&self) -> FxHashSet<Ino> {
        self.all.iter().filter_map(|dentry| dentry.inode).map(|(ino, _)| ino).collect()
    }

    /// Handles the removal of a name (`d_delete`). An entry without users becomes negative (returns `true`); an entry
    /// in use cannot be found by look-ups any more (returns `false`).
    pub fn delete(&mut self, id: DentryId) -> bool {
        self.remove_children(id);
        if self.is_used(id) {
            self.unhash(id);
            return false;
        }
        self.all[id as usize].inode = None;
        true
    }

    /// Moves `id` to the place of `target`, which is a negative entry or one whose name is taken over (`d_move`).
    /// Returns `true` when `target` had no users, so that its inode may be deleted.
    pub fn rename(&mut self, id: DentryId, target: DentryId) -> bool {
        let (parent, name) = (self.parent(target), self.name(target));
        self.remove_children(target);
        let unused = !self.is_used(target);
        if unused {
            self.detach(target);
            self.discard(target);
        } else {
            self.unhash(target);
        }
        self.detach(id);
        let dentry = &mut self.all[id as usize];
        dentry.parent = parent;
        dentry.name = name.clone();
        self.all[parent as usize].children.insert(name, id);
        unused
    }

    /// Swaps the places of two entries (`d_exchange`).
    pub fn exchange(&mut self, one: DentryId, other: DentryId) {
        let places = [one, other].map(|id| (self.parent(id), self.name(id)));
        [one, other].into_iter().for_each(|id| self.detach(id));
        for (id, (parent, name)) in [other, one].into_iter().zip(places) {
            let dentry = &mut self.all[id as usize];
            (dentry.parent, dentry.name) = (parent, name.clone());
            self.all[parent as usize].children.insert(name, id);
        }
    }

    /// Whether `above` is `id` or one of the directories on the way from the root to it.
    pub fn is_ancestor(&self, above: DentryId, id: DentryId) -> bool {
        let mut id = id;
        while id != above && id != ROOT {
            id = self.parent(id);
        }
        id == above
    }

    /// Drops all entries except those in use and those on the path to one in use, but none at all where fewer than
    /// `spared_count` are unused. Returns the inodes of the remaining entries.
    pub fn shrink(&mut self, spared_count: usize) -> FxHashSet<Ino> {
        if spared_count > 0 && self.unused() < spared_count {
            return self.inodes();
        }
        let mut keep = vec![false; self.all.len()];
        for &id in &self.free {
            // Vacant places of the table are kept, so that the loops below skip them.
            keep[id as usize] = true;
        }
        for id in 0..self.all.len() as DentryId {
            let mut id = id;
            let in_use = self.is_used(id);
            while in_use && !keep[id as usize] {
                keep[id as usize] = true;
                id = self.parent(id);
            }
        }
        for id in 0..self.all.len() as DentryId {
            if !keep[id as usize] {
                self.detach(id);
                self.discard(id);
            }
        }
        self.inodes()
    }

    /// Entries that nobody uses and below which there is none: those on the kernel's list of unused ones.
    fn unused(&self) -> usize {
        let is_entry = |id: &DentryId| *id != ROOT && !self.free.contains(id);
        let ids = (0..self.all.len() as DentryId).filter(|&id| !self.is_used(id));
        ids.filter(|&id| self.all[id as usize].children.is_empty()).filter(is_entry).count()
    }

    fn remove_children(&mut self, id: DentryId) {
        // A removed directory was empty, so these are negative entries, unless the file system is wrong.
        for (_, child) in std::mem::take(&mut self.all[id as usize].children) {
            self.remove_children(child);
            if self.is_used(child) {
                self.unhash(child);
            } else {
                self.discard(child);
            }
        }
    }

    fn unhash(&mut self, id: DentryId) {
        self.detach(id);
        self.all[id as usize].hashed = false;
        let parent = self.parent(id);
        self.hold(parent);
    }

    fn detach(&mut self, id: DentryId) {
        let (parent, name) = (self.parent(id), self.name(id));
        self.all[parent as usize].children.remove(&name);
    }

    fn discard(&mut self, id: DentryId) {
        self.unlist(id);
        let dentry = &mut self.all[id as usize];
        dentry.inode = None;
        dentry.hashed = false;
        dentry.children = FxHashMap::default();
        self.free.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileKind = FileKind::File;
    const DIRECTORY: FileKind = FileKind::Directory;

    #[test]
    fn shrinking_keeps_the_path_to_what_is_in_use() {
        let mut dentries = Dentries::new(1);
        let a = dentries.add(ROOT, b"a", Some((2, DIRECTORY)));
        let b = dentries.add(a, b"b", Some((3, FILE)));
        dentries.add(a, b"c", Some((4, FILE)));
        dentries.add(ROOT, b"d", None);
        dentries.hold(b);
        let mut left: Vec<_> = dentries.shrink(0).into_iter().collect();
        left.sort_unstable();
        assert_eq!(left, [1, 2, 3]);
        assert_eq!(dentries.child(a, b"b"), Some(b));
        assert_eq!(dentries.child(a, b"c"), None);
        dentries.release(b);
        assert_eq!(dentries.shrink(0).into_iter().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_few_unused_names_are_spared_where_the_kernel_counts_in_hundreds() {
        let mut dentries = Dentries::new(1);
        let directory = dentries.add(ROOT, b"d", Some((2, DIRECTORY)));
        let held = dentries.add(directory, b"held", Some((3, FILE)));
        dentries.hold(held);
        for number in 0..99u8 {
            dentries.add(directory, &[b'a', number], Some((Ino::from(number) + 10, FILE)));
        }
        assert_eq!((dentries.unused(), dentries.shrink(100).len()), (99, 102));
        dentries.add(ROOT, b"the hundredth", None);
        assert_eq!(dentries.shrink(100).len(), 3);
    }

    #[test]
    fn a_removed_directory_lives_as_long_as_an_open_file_in_it() {
        let mut dentries = Dentries::new(1);
        let directory = dentries.add(ROOT, b"d", Some((2, DIRECTORY)));
        let file = dentries.add(directory, b"f", Some((3, FILE)));
        dentries.hold(file);
        assert!(!dentries.delete(file));
        assert!(!dentries.delete(directory));
        assert_eq!(dentries.child(ROOT, b"d"), None);
        assert_eq!(dentries.shrink(0).len(), 3);
        assert_eq!(dentries.release(file), [(3, FILE), (2, DIRECTORY)]);
        assert_eq!(dentries.shrink(0).len(), 1);
    }

    #[test]
    fn two_names_change_places() {
        let mut dentries = Dentries::new(1);
        let directory = dentries.add(ROOT, b"d", Some((2, DIRECTORY)));
        let inner = dentries.add(directory, b"f", Some((3, FILE)));
        let outer = dentries.add(ROOT, b"g", Some((4, FILE)));
        dentries.exchange(inner, outer);
        assert_eq!((dentries.child(directory, b"f"), dentries.child(ROOT, b"g")), (Some(outer), Some(inner)));
        assert_eq!((dentries.parent(inner), dentries.parent(outer)), (ROOT, directory));
    }

    #[test]
    fn a_file_without_a_name_keeps_its_directory() {
        let mut dentries = Dentries::new(1);
        let directory = dentries.add(ROOT, b"d", Some((2, DIRECTORY)));
        let file = dentries.add_unnamed(directory, (3, FILE));
        dentries.hold(file);
        assert_eq!(dentries.child(directory, b""), None);
        assert!(dentries.shrink(0).contains(&2));
        assert_eq!(dentries.release(file), [(3, FILE)]);
        assert!(!dentries.shrink(0).contains(&2));
    }

    #[test]
    fn after_a_rename_the_old_name_is_unknown() {
        let mut dentries = Dentries::new(1);
        let old = dentries.add(ROOT, b"old", Some((2, FILE)));
        let new = dentries.add(ROOT, b"new", None);
        assert!(dentries.rename(old, new));
        assert_eq!(dentries.child(ROOT, b"old"), None);
        assert_eq!(dentries.child(ROOT, b"new"), Some(old));
    }
}
