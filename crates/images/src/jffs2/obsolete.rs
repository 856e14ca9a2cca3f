//! Nodes that are marked as obsolete in place, by a bit of their header that no check sum covers, although nothing has
//! replaced them: the bit is another than was written. A mount passes over them, and a file is older, shorter or gone.
//!
//! What obsoletes a node of a file in `fs/jffs2/` is a later node of its bytes, a shorter file, or the deletion of the file,
//! whose nodes are marked all together (`fs/jffs2/nodelist.c`, `readinode.c`).
//!
//! A mount does not look at what is marked (`jffs2_scan_eraseblock`), so the numbers of files whose nodes are all marked are given
//! again: what was marked before the file of today was made belongs to the file before it.

use crate::scan::{Hit, Scanned};
use ffslab_jffs2::probe::nodes;
use ffslab_jffs2::Endian;
use std::collections::{BTreeMap, BTreeSet};

/// An inode node: its version, the bytes of the file that it holds, where it stands.
struct Held {
    version: u32,
    from: u64,
    end: u64,
    file_bytes: u64,
    changed_s: u32,
    place: (u32, u64),
}

#[derive(Default)]
struct Inode {
    valid: Vec<Held>,
    obsolete: Vec<Held>,
}

impl Inode {
    /// Whether two nodes have one version, which a file gives once. Garbage collection copies a node as it is.
    fn has_two_lives(&self) -> bool {
        let all = self.valid.iter().chain(&self.obsolete);
        let mut seen = BTreeMap::new();
        all.map(|held| (held.version, (held.from, held.end, held.changed_s)))
            .any(|(version, holds)| *seen.entry(version).or_insert(holds) != holds)
    }

    fn last_marked(&self) -> Option<&Held> {
        self.obsolete.iter().max_by_key(|held| held.version)
    }

    /// The second in which the file of today was there at the latest.
    fn began_s(&self) -> u32 {
        self.valid.iter().map(|held| held.changed_s).min().unwrap_or(u32::MAX)
    }
}

struct Entry {
    version: u32,
    ino: u32,
    place: (u32, u64),
}

/// The nodes of an image, valid and marked as obsolete.
#[derive(Default)]
pub struct Marks {
    inodes: BTreeMap<u32, Inode>,
    /// By parent and name: the newest valid entry, and entries that are marked.
    newest: BTreeMap<(u32, Vec<u8>), (u32, u32)>,
    marked: BTreeMap<(u32, Vec<u8>), Vec<Entry>>,
    named: BTreeSet<u32>,
}

impl Marks {
    /// Takes a whole node; `place`: its block and where it stands in the image.
    pub fn add(&mut self, endian: Endian, node: &[u8], is_obsolete: bool, place: (u32, u64)) {
        if let Some(raw) = nodes::inode(endian, node) {
            let from = u64::from(raw.offset);
            let end = from + u64::from(raw.covered_bytes());
            let file_bytes = u64::from(raw.file_bytes);
            let held = Held { version: raw.version, from, end, file_bytes, changed_s: raw.changed_s, place };
            let inode = self.inodes.entry(raw.ino).or_default();
            if is_obsolete { &mut inode.obsolete } else { &mut inode.valid }.push(held);
        } else if let Some((raw, Some(name))) = nodes::dirent(endian, node) {
            let key = (raw.parent, name.to_vec());
            if is_obsolete {
                self.marked.entry(key).or_default().push(Entry { version: raw.version, ino: raw.ino, place });
                return;
            }
            self.named.insert(raw.ino);
            let newest = self.newest.entry(key).or_default();
            *newest = (raw.version, raw.ino).max(*newest);
        }
    }

    /// Inodes that lost a name: a later entry of it leads elsewhere, or nowhere.
    fn unnamed_once(&self) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        for (key, entries) in &self.marked {
            let newest = self.newest.get(key).copied();
            let all: Vec<(u32, u32)> = entries.iter().map(|entry| (entry.version, entry.ino)).chain(newest).collect();
            let leads_elsewhere =
                |&&(version, ino): &&(u32, u32)| all.iter().any(|later| later.0 > version && later.1 != ino);
            found.extend(all.iter().filter(leads_elsewhere).map(|(_, ino)| *ino));
        }
        found
    }

    /// Tells what is marked without a reason.
    pub fn tell(self, scanned: &mut Scanned) {
        for (key, entries) in &self.marked {
            let newest = self.newest.get(key).map(|(version, _)| *version);
            let lasting = entries.iter().max_by_key(|entry| entry.version).filter(|entry| entry.ino != 0);
            // Of a name that is gone the inode is gone, too, unless it has another name.
            let is_there = |ino: u32| self.inodes.get(&ino).is_some_and(|inode| !inode.valid.is_empty());
            if let Some(entry) = lasting.filter(|entry| newest.is_none_or(|newest| newest < entry.version)) {
                if is_there(entry.ino) && !self.named.contains(&entry.ino) {
                    let what = "a directory entry that is marked as obsolete, of an inode that is not";
                    let hits = Some(Hit::new(entry.ino, None, None));
                    scanned.damaged_part(entry.place.0, entry.place.1, what, hits);
                }
            }
        }
        let (named, unnamed_once) = (&self.named, self.unnamed_once());
        let leads_there: BTreeSet<u32> = self.newest.values().map(|(_, ino)| *ino).collect();
        let marked = self.inodes.iter().filter(|(_, inode)| !inode.obsolete.is_empty());
        for (&ino, inode) in marked.filter(|(ino, _)| **ino == 1 || named.contains(ino)) {
            let Some(last) = inode.valid.iter().max_by_key(|held| held.version) else {
                // A mount passes over an entry whose inode has no node, so the file is gone without a word
                // (`jffs2_build_inode_pass1` of `fs/jffs2/build.c`). A deletion takes the entry first.
                if let Some(held) = inode.last_marked().filter(|_| ino == 1 || leads_there.contains(&ino)) {
                    let hits = Some(Hit::new(ino, None, Some(u64::from(held.version))));
                    let what = "a node that is marked as obsolete, and its inode has a name and no other node";
                    scanned.damaged_part(held.place.0, held.place.1, what, hits);
                }
                continue;
            };
            let is_given_again = unnamed_once.contains(&ino) || inode.has_two_lives();
            let began_s = is_given_again.then(|| inode.began_s());
            for held in inode.obsolete.iter().filter(|held| began_s.is_none_or(|began_s| held.changed_s > began_s)) {
                let end = held.end.min(last.file_bytes);
                let is_newest = held.version > last.version;
                if is_newest || !covered(&inode.valid, held.version, held.from, end) {
                    let range = (held.end > held.from).then_some([held.from, held.end]);
                    let hits = Some(Hit::new(ino, range, Some(u64::from(held.version))));
                    let what = "a node that is marked as obsolete, and nothing replaces it";
                    scanned.damaged_part(held.place.0, held.place.1, what, hits);
                }
            }
        }
    }
}

/// Whether nodes of a later version hold all bytes between two places.
fn covered(valid: &[Held], version: u32, from: u64, end: u64) -> bool {
    let mut later: Vec<(u64, u64)> =
        valid.iter().filter(|held| held.version > version).map(|held| (held.from, held.end)).collect();
    later.sort_unstable();
    let reached = later.into_iter().fold(from, |at, (from, end)| if from <= at { at.max(end) } else { at });
    reached >= end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(version: u32, from: u64, end: u64) -> Held {
        Held { version, from, end, file_bytes: 100, changed_s: version, place: (0, 0) }
    }

    fn told(valid: Vec<Held>, obsolete: Vec<Held>) -> u64 {
        let mut marks = Marks::default();
        marks.named.insert(2);
        marks.inodes.insert(2, Inode { valid, obsolete });
        let mut scanned = Scanned::default();
        marks.tell(&mut scanned);
        scanned.damage_count
    }

    #[test]
    fn a_mark_has_a_reason_or_is_told() {
        assert_eq!(told(vec![held(2, 0, 50), held(3, 50, 100)], vec![held(1, 20, 80)]), 0, "two later nodes");
        assert_eq!(told(vec![held(2, 0, 50)], vec![held(1, 20, 80)]), 1, "bytes that nothing replaces");
        assert_eq!(told(vec![held(1, 0, 100)], vec![held(2, 20, 80)]), 1, "only an older node");
        assert_eq!(told(vec![held(1, 0, 100)], vec![held(2, 0, 0)]), 1, "the newest attributes");
        assert_eq!(told(vec![held(2, 0, 100)], vec![held(1, 100, 200)]), 0, "the file is shorter now");
        assert_eq!(told(Vec::new(), vec![held(1, 0, 100)]), 0, "no name leads to it any more");
    }

    #[test]
    fn a_number_that_is_given_again_has_marks_of_the_file_before() {
        let old = || vec![Held { changed_s: 5, ..held(2, 20, 80) }, Held { changed_s: 6, ..held(3, 80, 90) }];
        assert_eq!(told(vec![Held { changed_s: 7, ..held(2, 0, 10) }], old()), 0, "two nodes of version 2");
        assert_eq!(
            told(vec![Held { changed_s: 7, ..held(1, 0, 10) }], old()),
            2,
            "nothing says that the file is another"
        );
        let flipped = Held { changed_s: 8, ..held(4, 10, 20) };
        let marked = old().into_iter().chain([flipped]).collect();
        assert_eq!(told(vec![Held { changed_s: 7, ..held(2, 0, 10) }], marked), 1, "a node of the file of today");
    }

    #[test]
    fn a_name_that_was_removed_and_made_again_says_so() {
        let mut marks = Marks::default();
        let entry = |version, ino| Entry { version, ino, place: (0, 0) };
        marks.marked.insert((1, b"b".to_vec()), vec![entry(3, 7), entry(4, 0), entry(5, 8)]);
        marks.newest.insert((1, b"b".to_vec()), (6, 8));
        assert_eq!(marks.unnamed_once(), BTreeSet::from([0, 7]));
    }
}
