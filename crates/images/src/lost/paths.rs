//! The paths of what is gone: the last names that lead to it, as far as they are still on the flash.

use super::history::Name;
use crate::tree::Tree;
use ffslab_fs::FileKind;
use std::collections::{BTreeMap, BTreeSet};

/// A chain of names is followed so far; what damage makes of directories may be a circle.
const DEPTH_MAX: usize = 64;

pub struct Paths<'h> {
    live: BTreeSet<u32>,
    /// Paths of the files and directories that are there.
    known: BTreeMap<u32, Vec<u8>>,
    /// The last name of each object.
    last: BTreeMap<u32, &'h Name>,
}

impl<'h> Paths<'h> {
    pub fn new(names: &'h [Name], root: u32, tree: Option<&Tree>) -> Paths<'h> {
        let mut known = BTreeMap::from([(root, Vec::new())]);
        let mut live = BTreeSet::from([root]);
        for entry in tree.into_iter().flat_map(|tree| &tree.entries) {
            live.insert(entry.ino);
            if entry.kind != FileKind::Directory || entry.error.is_none() {
                known.entry(entry.ino).or_insert_with(|| entry.path.clone());
            }
        }
        let mut last: BTreeMap<u32, &Name> = BTreeMap::new();
        for name in names {
            let kept = last.entry(name.ino).or_insert(name);
            if name.sequence >= kept.sequence {
                *kept = name;
            }
        }
        Paths { live, known, last }
    }

    pub fn is_live(&self, ino: u32) -> bool {
        self.live.contains(&ino)
    }

    pub fn has_name(&self, ino: u32) -> bool {
        self.last.contains_key(&ino) || self.known.contains_key(&ino)
    }

    /// The path of an object below the root.
    pub fn of(&self, ino: u32) -> Vec<u8> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut at = ino;
        let base = loop {
            if let Some(path) = self.known.get(&at) {
                break path.clone();
            }
            match self.last.get(&at).filter(|_| names.len() < DEPTH_MAX) {
                Some(name) => {
                    names.push(if is_sound(&name.name) { name.name.clone() } else { unknown(at) });
                    at = name.parent;
                }
                None => break unknown(at),
            }
        };
        let all = Some(base).filter(|base| !base.is_empty()).into_iter().chain(names.into_iter().rev());
        all.collect::<Vec<_>>().join(&b'/')
    }
}

/// A name that a system call could have made.
fn is_sound(name: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&b'/') && !name.contains(&0) && name != b"." && name != b".."
}

fn unknown(ino: u32) -> Vec<u8> {
    format!("#{ino}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(ino: u32, parent: u32, name: &[u8], sequence: u64) -> Name {
        Name { parent, name: name.to_vec(), ino, kind: FileKind::File, sequence }
    }

    #[test]
    fn a_path_is_made_of_the_last_names_and_of_none_that_leads_elsewhere() {
        let names = [
            name(5, 1, b"dir", 1),
            name(6, 5, b"old", 2),
            name(6, 5, b"new", 3),
            name(7, 5, b"..", 4),
            name(8, 99, b"a/b", 5),
            // Damage can make a circle of directories.
            name(10, 11, b"x", 6),
            name(11, 10, b"y", 7),
        ];
        let paths = Paths::new(&names, 1, None);
        assert_eq!(paths.of(6), b"dir/new");
        assert_eq!(paths.of(7), b"dir/#7");
        assert_eq!(paths.of(8), b"#99/#8");
        assert_eq!(paths.of(50), b"#50");
        assert!(paths.of(10).ends_with(b"/x/y/x"));
        assert!(!paths.is_live(6) && paths.is_live(1));
    }
}
