//! Objects in memory: files, directories, links, devices; how they are numbered, found and arranged in directories.
//!
//! Follows `struct yaffs_obj` of `yaffs_guts.h` and the object functions of `yaffs_guts.c`. All objects are always in memory,
//! but of a *lazily loaded* one only what a mount learns from tags. Orders that counters depend on are kept: new entries
//! of a directory come first, and a checkpoint lists objects bucket by bucket.

use ffslab_sim::{Phase, Sim};
use rustc_hash::FxHashMap;

use crate::header::Attributes;
use crate::tags::Kind;
use crate::tnodes::Tree;

/// Position of an object in memory.
pub type Obj = u32;

pub const NONE: Obj = Obj::MAX;

/// Numbers of the objects that always exist.
pub const ROOT_ID: u32 = 1;
pub const LOST_AND_FOUND_ID: u32 = 2;
pub const UNLINKED_ID: u32 = 3;
pub const DELETED_ID: u32 = 4;
/// Object number in the tags of block summaries.
pub const SUMMARY_ID: u32 = 0x10;
/// Highest object number.
pub const ID_MAX: u32 = 0x3FFFF;

const BUCKETS: u32 = 256;
/// Names up to this length are kept in memory; longer ones are read from flash whenever they are looked at.
pub const SHORT_NAME_BYTES: usize = 15;

/// A regular file's part of an object.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilePart {
    /// Size as programs see it.
    pub bytes: u64,
    /// The size that data on flash account for. During a scan: the size according to the chunks seen so far.
    pub stored_bytes: u64,
    /// During a scan: the smallest size that a newer header gave the file. Data beyond it are obsolete.
    pub shrink_bytes: u64,
    pub tree: Tree,
    /// Data chunks on flash.
    pub chunks: i32,
}

#[derive(Clone, Debug)]
pub struct Object {
    pub id: u32,
    pub kind: Kind,
    pub deleted: bool,
    pub soft_deleted: bool,
    pub unlinked: bool,
    /// Exists without a header on flash.
    pub fake: bool,
    pub rename_allowed: bool,
    pub unlink_allowed: bool,
    /// The header on flash is out of date.
    pub dirty: bool,
    /// The last change that is not in it.
    pub changed_in: Phase,
    /// During a scan: the newest header of the object has been seen.
    pub valid: bool,
    pub lazy_loaded: bool,
    /// Whether the header chunk holds extended attributes; `None`: nobody has looked (`xattr_known`).
    pub has_attributes: Option<bool>,
    /// Deleted while the system above still used it.
    pub deferred_free: bool,
    /// Another object took its name, and its header says so.
    pub is_shadowed: bool,
    /// The system above uses it (`my_inode`).
    pub in_use: bool,
    /// The directory is in the list of those whose headers are to be written.
    pub in_dirty_list: bool,
    pub serial: u8,
    pub name_sum: u16,
    pub parent: Obj,
    before: Obj,
    after: Obj,
    first_child: Obj,
    /// Grows with every entry of a directory, so that a higher rank is a newer entry.
    rank: u64,
    /// Number of children whose names are not known yet, or cannot be found by their sum.
    unnamed_children: u32,
    pub header_chunk: u32,
    pub attributes: Attributes,
    short_name: [u8; SHORT_NAME_BYTES],
    short_name_len: u8,
    pub file: FilePart,
    pub alias: Vec<u8>,
    /// Hard links: the object that this one stands for, and its number.
    pub equivalent: Obj,
    pub equivalent_id: u32,
    /// Hard links that stand for this object; the newest is last.
    pub links: Vec<Obj>,
}

impl Object {
    pub fn short_name(&self) -> Option<&[u8]> {
        (self.short_name_len > 0).then(|| &self.short_name[..usize::from(self.short_name_len)])
    }

    /// The header on flash is out of date from now on.
    pub fn changed(&mut self, sim: &Sim) {
        (self.dirty, self.changed_in) = (true, sim.phase());
    }

    /// Whether the name is not known before the header is read, or cannot be looked up by its sum.
    fn is_unnamed(&self) -> bool {
        self.lazy_loaded && self.header_chunk > 0 || self.header_chunk == 0 && self.id != LOST_AND_FOUND_ID
    }
}

/// `yaffs_calc_name_sum`: quick test for names that differ. Case does not matter to it.
pub fn name_sum(name: &[u8]) -> u16 {
    let mut sum = 0u16;
    // Only the first 126 characters count: half of the longest name less one.
    for (i, &byte) in (1u16..127).zip(name.iter().take_while(|&&byte| byte != 0)) {
        sum = sum.wrapping_add(u16::from(byte & 0x1F).wrapping_mul(i));
    }
    sum
}

pub struct Objects {
    slots: Vec<Object>,
    vacant: Vec<Obj>,
    by_id: FxHashMap<u32, Obj>,
    /// Objects by the low bits of their numbers; within a bucket the newest is last.
    buckets: Vec<Vec<Obj>>,
    bucket_finder: u32,
    count: u32,
    next_rank: u64,
    /// Named children by directory and sum, the newest last.
    by_sum: FxHashMap<(Obj, u16), Vec<Obj>>,
    pub root: Obj,
    pub lost_and_found: Obj,
    pub unlinked: Obj,
    pub deleted: Obj,
    /// Files waiting for deletion by the garbage collection.
    pub deleted_files: i32,
    pub unlinked_files: i32,
}

impl std::ops::Index<Obj> for Objects {
    type Output = Object;
    #[inline]
    fn index(&self, obj: Obj) -> &Object {
        &self.slots[obj as usize]
    }
}

impl std::ops::IndexMut<Obj> for Objects {
    #[inline]
    fn index_mut(&mut self, obj: Obj) -> &mut Object {
        &mut self.slots[obj as usize]
    }
}

impl Objects {
    pub fn new() -> Objects {
        Objects {
            slots: Vec::new(),
            vacant: Vec::new(),
            by_id: FxHashMap::default(),
            buckets: vec![Vec::new(); BUCKETS as usize],
            bucket_finder: 0,
            count: 0,
            next_rank: 0,
            by_sum: FxHashMap::default(),
            root: NONE,
            lost_and_found: NONE,
            unlinked: NONE,
            deleted: NONE,
            deleted_files: 0,
            unlinked_files: 0,
        }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    // ---- numbers -------------------------------------------------------------------------------------------

    /// A number that no object has, in a bucket with few objects (`yaffs_new_obj_id`).
    pub fn new_id(&mut self) -> u32 {
        let mut best = (usize::MAX, 0);
        for _ in 0..10 {
            if best.0 <= 4 {
                break;
            }
            self.bucket_finder = (self.bucket_finder + 1) % BUCKETS;
            let count = self.buckets[self.bucket_finder as usize].len();
            if count < best.0 {
                best = (count, self.bucket_finder);
            }
        }
        let mut id = best.1 + BUCKETS;
        while self.by_id.contains_key(&id) {
            id += BUCKETS;
        }
        id
    }

    /// The object of that number, unless it is deleted and only waits to be forgotten.
    pub fn find(&self, id: u32) -> Option<Obj> {
        self.by_id.get(&id).copied().filter(|&obj| !self[obj].deferred_free)
    }

    /// The object of that number, also one that only waits to be forgotten.
    pub fn find_even_deferred(&self, id: u32) -> Option<Obj> {
        self.by_id.get(&id).copied()
    }

    /// Objects that the system above uses.
    pub fn used(&self) -> Vec<Obj> {
        self.in_checkpoint_order().filter(|&obj| self[obj].in_use).collect()
    }

    /// All objects, in the order in which a checkpoint lists them.
    pub fn in_checkpoint_order(&self) -> impl Iterator<Item = Obj> + '_ {
        self.buckets.iter().flat_map(|bucket| bucket.iter().rev().copied())
    }

    /// Makes an object in no directory.
    pub fn add(&mut self, id: u32, kind: Kind) -> Obj {
        let object = Object {
            id,
            kind,
            deleted: false,
            soft_deleted: false,
            unlinked: false,
            fake: false,
            rename_allowed: true,
            unlink_allowed: true,
            dirty: false,
            changed_in: Phase::default(),
            valid: false,
            lazy_loaded: false,
            has_attributes: None,
            deferred_free: false,
            is_shadowed: false,
            in_use: false,
            in_dirty_list: false,
            serial: 0,
            name_sum: 0,
            parent: NONE,
            before: NONE,
            after: NONE,
            first_child: NONE,
            rank: 0,
            unnamed_children: 0,
            header_chunk: 0,
            attributes: Attributes::default(),
            short_name: [0; SHORT_NAME_BYTES],
            short_name_len: 0,
            file: FilePart::default(),
            alias: Vec::new(),
            equivalent: NONE,
            equivalent_id: 0,
            links: Vec::new(),
        };
        self.count += 1;
        let obj = match self.vacant.pop() {
            Some(obj) => {
                self.slots[obj as usize] = object;
                obj
            }
            None => {
                self.slots.push(object);
                (self.slots.len() - 1) as Obj
            }
        };
        self.by_id.insert(id, obj);
        self.buckets[(id % BUCKETS) as usize].push(obj);
        obj
    }

    /// Forgets an object that is in no directory.
    pub fn remove(&mut self, obj: Obj) {
        let id = self[obj].id;
        self.by_id.remove(&id);
        self.buckets[(id % BUCKETS) as usize].retain(|&other| other != obj);
        self[obj].links = Vec::new();
        self[obj].alias = Vec::new();
        self.vacant.push(obj);
        self.count -= 1;
    }

    // ---- directories ---------------------------------------------------------------------------------------

    pub fn is_directory(&self, obj: Obj) -> bool {
        obj != NONE && self[obj].kind == Kind::Directory
    }

    pub fn first_child(&self, dir: Obj) -> Option<Obj> {
        Some(self[dir].first_child).filter(|&child| child != NONE)
    }

    /// The next older entry of the same directory.
    pub fn next_sibling(&self, obj: Obj) -> Option<Obj> {
        Some(self[obj].after).filter(|&sibling| sibling != NONE)
    }

    pub fn has_children(&self, obj: Obj) -> bool {
        self[obj].first_child != NONE
    }

    /// All entries of a directory, the newest first.
    pub fn children(&self, dir: Obj) -> Vec<Obj> {
        std::iter::successors(self.first_child(dir), |&child| self.next_sibling(child)).collect()
    }

    /// Takes an object out of its directory.
    pub fn leave_directory(&mut self, obj: Obj) {
        let dir = self[obj].parent;
        if dir == NONE {
            return;
        }
        self.unlist_name(obj);
        let (before, after) = (self[obj].before, self[obj].after);
        if before == NONE {
            self[dir].first_child = after;
        } else {
            self[before].after = after;
        }
        if after != NONE {
            self[after].before = before;
        }
        let object = &mut self[obj];
        (object.parent, object.before, object.after) = (NONE, NONE, NONE);
    }

    /// Makes an object the first entry of a directory, and of no other one.
    pub fn enter_directory(&mut self, dir: Obj, obj: Obj) {
        self.leave_directory(obj);
        self.next_rank += 1;
        let (first, rank) = (self[dir].first_child, self.next_rank);
        let object = &mut self[obj];
        (object.parent, object.before, object.after, object.rank) = (dir, NONE, first, rank);
        if first != NONE {
            self[first].before = obj;
        }
        self[dir].first_child = obj;
        self.list_name(obj);
        if dir == self.unlinked || dir == self.deleted {
            self[obj].unlinked = true;
            self[obj].rename_allowed = false;
            self.unlinked_files += 1;
        }
    }

    // ---- names ---------------------------------------------------------------------------------------------

    fn list_name(&mut self, obj: Obj) {
        let object = &self[obj];
        let (dir, sum, rank) = (object.parent, object.name_sum, object.rank);
        if object.is_unnamed() {
            self[dir].unnamed_children += 1;
            return;
        }
        let mut list = self.by_sum.remove(&(dir, sum)).unwrap_or_default();
        let place = list.partition_point(|&other| self[other].rank < rank);
        list.insert(place, obj);
        self.by_sum.insert((dir, sum), list);
    }

    fn unlist_name(&mut self, obj: Obj) {
        let object = &self[obj];
        let (dir, sum) = (object.parent, object.name_sum);
        if object.is_unnamed() {
            self[dir].unnamed_children = self[dir].unnamed_children.saturating_sub(1);
            return;
        }
        if let Some(list) = self.by_sum.get_mut(&(dir, sum)) {
            list.retain(|&other| other != obj);
            if list.is_empty() {
                self.by_sum.remove(&(dir, sum));
            }
        }
    }

    /// Makes a change that may alter under which name an object is found (its name, whether it is loaded, where its
    /// header is), and keeps the lists of names up to date.
    pub fn rename<R>(&mut self, obj: Obj, change: impl FnOnce(&mut Object) -> R) -> R {
        let has_parent = self[obj].parent != NONE;
        if has_parent {
            self.unlist_name(obj);
        }
        let result = change(&mut self[obj]);
        if has_parent {
            self.list_name(obj);
        }
        result
    }

    /// Sets an object's name. Memory keeps it only if it is short.
    pub fn set_name(&mut self, obj: Obj, name: &[u8]) {
        self.rename(obj, |object| object.set_name(name));
    }

    /// Does the directory have entries whose names are not known yet?
    pub fn has_unnamed_children(&self, dir: Obj) -> bool {
        self[dir].unnamed_children > 0
    }

    /// All entries of a directory whose names have this sum, the newest first.
    pub fn children_with_sum(&self, dir: Obj, sum: u16) -> Vec<Obj> {
        self.by_sum.get(&(dir, sum)).map_or_else(Vec::new, |list| list.iter().rev().copied().collect())
    }

    /// Names that an object has (`yaffs_get_obj_link_count`).
    pub fn link_count(&self, obj: Obj) -> u32 {
        u32::from(!self[obj].unlinked) + self[obj].links.len() as u32
    }

    /// The object that a hard link stands for; for any other object, the object itself. `None`: the link leads nowhere.
    pub fn equivalent(&self, obj: Obj) -> Option<Obj> {
        match self[obj].kind {
            Kind::HardLink => Some(self[obj].equivalent).filter(|&target| target != NONE),
            _ => Some(obj),
        }
    }

    /// Connects hard links with the objects for which they stand (`yaffs_link_fixup`).
    pub fn join_links(&mut self, links: &[Obj]) {
        // The original builds this list from its head, so the last link comes first.
        for &link in links.iter().rev() {
            let target = self.find(self[link].equivalent_id);
            match target.filter(|&target| self[target].kind != Kind::HardLink) {
                Some(target) => {
                    self[link].equivalent = target;
                    self[target].links.push(link);
                }
                None => self[link].equivalent = NONE,
            }
        }
    }
}

impl Object {
    /// See [`Objects::set_name`]; for objects in no directory.
    pub fn set_name(&mut self, name: &[u8]) {
        self.short_name_len = 0;
        if name.len() <= SHORT_NAME_BYTES {
            self.short_name[..name.len()].copy_from_slice(name);
            self.short_name_len = name.len() as u8;
        }
        self.name_sum = name_sum(name);
    }
}
