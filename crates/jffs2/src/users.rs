//! Who uses the inodes in memory, if the caller counts that himself.

use ffslab_fs::Ino;
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Default)]
pub struct User {
    pub(crate) count: u32,
    /// The directory through which this directory was found. As long as it is noted here the parent counts one more
    /// user.
    pub(crate) parent: Option<Ino>,
}

/// How many users each inode in memory has, and the order in which the inodes came into memory.
#[derive(Default)]
pub struct Users {
    pub(crate) of: FxHashMap<Ino, User>,
    pub(crate) order: Vec<Ino>,
}

impl Users {
    pub fn entry(&mut self, ino: Ino) -> &mut User {
        let order = &mut self.order;
        self.of.entry(ino).or_insert_with(|| {
            order.push(ino);
            User::default()
        })
    }

    pub fn remove(&mut self, ino: Ino) -> Option<Ino> {
        self.order.retain(|&other| other != ino);
        self.of.remove(&ino).and_then(|user| user.parent)
    }
}
