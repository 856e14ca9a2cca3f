//! Nodes that are marked as obsolete in place, by a bit of their header that no check sum covers, although nothing has
//! replaced them: the bit is another than was written. A mount passes over them, and a file is older, shorter or gone.
//!
//! What obsoletes a node of a file in `fs/jffs2/` is a later node of its bytes, a shorter file, or the deletion of the file,
//! whose nodes are marked all together (`fs/jffs2/nodelist.c`, `readinode.c`).

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
    place: (u32, u64),
}

#[derive(Default)]
struct Inode {
    valid: Vec<Held>,
    obsolete: Vec<Held>,
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
    /// By parent and name: the newest valid version, and entries that are marked.
    newest: BTreeMap<(u32, Vec<u8>), u32>,
    marked: BTreeMap<(u32, Vec<u8>), Vec<Entry>>,
    named: BTreeSet<u32>,
}

impl Marks {
    /// Takes a whole node; `place`: its block and where it stands in the image.
    pub fn add(&mut self, endian: Endian, node: &[u8], is_obsolete: bool, place: (u32, u64)) {
        if let Some(raw) = nodes::inode(endian, node) {
            let from = u64::from(raw.offset);
            let end = from + u64::from(raw.covered_bytes());
            let held = Held { version: raw.version, from, end, file_bytes: u64::from(raw.file_bytes), place };
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
            *newest = raw.version.max(*newest);
        }
    }

    /// Tells what is marked without a reason.
    pub fn tell(self, scanned: &mut Scanned) {
        for (key, entries) in &self.marked {
            let newest = self.newest.get(key).copied();
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
        let named = &self.named;
        for (&ino, inode) in self.inodes.iter().filter(|(ino, _)| **ino == 1 || named.contains(ino)) {
            // An inode that is named and has no valid node at all cannot be read, which is told where it is.
            let Some(last) = inode.valid.iter().max_by_key(|held| held.version) else { continue };
            for held in &inode.obsolete {
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
        Held { version, from, end, file_bytes: 100, place: (0, 0) }
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
        assert_eq!(told(Vec::new(), vec![held(1, 0, 100)]), 0, "a file without nodes is told elsewhere");
    }
}
