//! What the overlay knows in memory: a name with its inode, or that there is none (`struct ovl_entry`, `struct ovl_inode`).

use ffslab_fs::{FileKind, Ino};
use ffslab_system::Fd;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

/// An inode of the overlay, which its names and open files share.
pub(crate) type Node = Rc<RefCell<Inode>>;

#[derive(Debug)]
pub(crate) struct Inode {
    /// Of a directory its path, without slashes around it; of a file the name by which it was found.
    pub path: Vec<u8>,
    pub kind: FileKind,
    pub is_upper: bool,
    /// The lower layers that have it: all of a directory's that are merged, the one of a file.
    pub lowers: Vec<usize>,
    /// Nothing below this directory shows through it.
    pub is_opaque: bool,
    /// The upper directory may hold what was copied up (`OVL_IMPURE`), so it was marked.
    pub is_impure: bool,
    /// Its list is merged of several layers, or may have whiteouts in it (`OVL_WHITEOUTS`).
    pub may_have_whiteouts: bool,
    /// The lower file whose inode number programs see (`OVL_CONST_INO`), or the own number of a directory.
    pub number: Option<Ino>,
    /// Open files.
    pub opens: u32,
    /// The upper file, for those who had opened the lower one before it was copied up.
    pub above: Option<Fd>,
    /// A directory that was removed.
    pub is_gone: bool,
}

impl Inode {
    /// Of no layer yet.
    pub fn new(path: &[u8], kind: FileKind) -> Inode {
        Inode {
            path: path.to_vec(),
            kind,
            is_upper: false,
            lowers: Vec::new(),
            is_opaque: false,
            is_impure: false,
            may_have_whiteouts: false,
            number: None,
            opens: 0,
            above: None,
            is_gone: false,
        }
    }

    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }

    /// `OVL_TYPE_MERGE` or lower: a directory that was there before the overlay was.
    pub fn is_merged_or_lower(&self) -> bool {
        self.is_directory() && !self.lowers.is_empty()
    }

    /// `OVL_TYPE_MERGE`
    pub fn is_merged(&self) -> bool {
        self.is_upper && self.is_merged_or_lower()
    }

    /// `ovl_pure_upper`
    pub fn is_pure_upper(&self) -> bool {
        self.is_upper && self.lowers.is_empty() && !self.may_have_whiteouts
    }

    /// `OVL_TYPE_ORIGIN`: a lower one is known that it was copied up from.
    pub fn has_origin(&self) -> bool {
        self.is_upper && (self.is_merged() || !self.is_directory() && self.number.is_some())
    }
}

/// An open file.
pub(crate) struct Opened {
    pub node: Node,
    /// On which layer, and its descriptor there; `None`: it is a directory.
    pub real: Option<(Where, Fd)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Upper,
    Lower(usize),
}

/// A name that was looked up.
#[derive(Clone)]
pub(crate) enum Known {
    Is(Node),
    /// There is none; `by_whiteout`: because one hides it.
    Not {
        by_whiteout: bool,
    },
}

impl Known {
    pub fn node(&self) -> Option<&Node> {
        match self {
            Known::Is(node) => Some(node),
            Known::Not { .. } => None,
        }
    }

    /// `ovl_dentry_is_whiteout`
    pub fn is_whiteout(&self) -> bool {
        matches!(self, Known::Not { by_whiteout: true })
    }
}

/// The names that are known, by path without slashes around it.
#[derive(Default)]
pub(crate) struct Names {
    known: BTreeMap<Vec<u8>, Known>,
}

impl Names {
    pub fn get(&self, path: &[u8]) -> Option<&Known> {
        self.known.get(path)
    }

    pub fn set(&mut self, path: &[u8], known: Known) {
        self.known.insert(path.to_vec(), known);
    }

    /// The name is looked up anew when it is asked for.
    pub fn drop(&mut self, path: &[u8]) {
        self.known.remove(path);
        for below in self.below(path) {
            self.known.remove(&below);
        }
    }

    /// A name moves with all that is below it.
    pub fn rename(&mut self, old: &[u8], new: &[u8]) {
        self.drop(new);
        for path in self.below(old).into_iter().chain([old.to_vec()]) {
            let Some(known) = self.known.remove(&path) else { continue };
            let moved = [new, &path[old.len()..]].concat();
            if let Known::Is(node) = &known {
                node.borrow_mut().path = moved.clone();
            }
            self.known.insert(moved, known);
        }
    }

    /// Two names change places.
    pub fn exchange(&mut self, one: &[u8], other: &[u8]) {
        // No name of a program has a NUL.
        let aside = b"\0".as_slice();
        self.rename(one, aside);
        self.rename(other, one);
        self.rename(aside, other);
    }

    /// Forgets what no open file needs (`drop_caches`). The root stays as long as it is mounted.
    pub fn shrink(&mut self) {
        let held: Vec<Vec<u8>> =
            self.known.iter().filter(|(_, known)| is_open(known)).map(|(path, _)| path.clone()).collect();
        let leads =
            |path: &[u8]| held.iter().any(|held| held == path || held.starts_with(path) && held[path.len()] == b'/');
        self.known.retain(|path, _| path.is_empty() || leads(path));
    }

    fn below(&self, path: &[u8]) -> Vec<Vec<u8>> {
        if path.is_empty() {
            return self.known.keys().filter(|path| !path.is_empty()).cloned().collect();
        }
        let begin = [path, b"/"].concat();
        let from = (Bound::Excluded(begin.clone()), Bound::Unbounded);
        self.known.range(from).map(|(path, _)| path.clone()).take_while(|path| path.starts_with(&begin)).collect()
    }
}

fn is_open(known: &Known) -> bool {
    known.node().is_some_and(|node| node.borrow().opens > 0)
}
