//! What a format finds in an erase block: for whom its bytes were written, and names.

use crate::lost::history::Name;
use std::collections::BTreeMap;

/// For what bytes were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// The file or directory of this inode: its data, its attributes, names in it.
    File(u32),
    /// A structure of the file system, in a word or two.
    Own(&'static str),
}

/// What a format finds in an erase block.
#[derive(Default)]
pub struct Written {
    pub(crate) bytes: BTreeMap<Purpose, u64>,
    pub(crate) names: Vec<Name>,
}

impl Written {
    /// Further bytes of this purpose.
    pub fn adds(&mut self, purpose: Purpose, bytes: u32) {
        *self.bytes.entry(purpose).or_default() += u64::from(bytes);
    }

    /// A name of a file.
    pub fn named(&mut self, name: Name) {
        self.names.push(name);
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
