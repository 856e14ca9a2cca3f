//! A program with a file system of paths and handles linked into it ([`ffslab_fs::PathFileSystem`]): littlefs and the like, or a store
//! of keys and values in its place ([`ffslab_fs::KeyValueStore`]).
//!
//! Each call of the program is one call of the file system. Descriptors that name the same file are handles of their own, as in
//! firmware: what one has written the others see after a sync or close. Files have no times, owners or permissions, and the
//! inode number of a path is a hash of it.

mod calls;
mod system;

use crate::handles::Handles;
use crate::Costs;
use ffslab_fs::{
    causes, Errno, FileHandle, FileKind, Ino, KeyValueStore, PathFileSystem, Result, Stat, TimeSpec, STAT_BLOCK_BYTES,
};
use ffslab_mtd::{is_erased, Mtd};
use ffslab_sim::{Reason, Sim};
use ffslab_system::{Answer, ImageGiven, OpenFlags, Refusal, SystemError};

/// Makes and mounts the file system of a medium.
pub trait Make {
    /// Errors: options that it does not have, a medium that it cannot mount.
    fn mount(&self, medium: &Mtd, options: &[String]) -> std::result::Result<Box<dyn PathFileSystem>, SystemError>;

    /// Makes a new, empty one.
    ///
    /// Errors: the medium does not suit it.
    fn format(&self, medium: &Mtd) -> std::result::Result<(), SystemError>;

    /// Whether nothing has been written to the medium yet, so that a mount makes a new one before. The default looks at the first two
    /// erase blocks.
    fn is_new(&self, medium: &Mtd) -> bool {
        let mut block = vec![0; medium.erase_block_bytes() as usize];
        (0..u64::from(medium.blocks().min(2))).all(|number| {
            let looked = medium.look(number * block.len() as u64, &mut block);
            looked.is_ok() && is_erased(&block)
        })
    }

    /// Puts an image on the medium, as a programmer does with a chip. Nothing is mounted.
    ///
    /// Errors: an image that does not fit; nobody can do so, which is the default.
    fn load(&self, _medium: &Mtd, _given: &ImageGiven, _image: &[u8]) -> std::result::Result<(), SystemError> {
        let what = "chip that could be programmed outside of it";
        Err(Refusal::Lacks { system: SYSTEM_NAME, what }.into())
    }
}

/// In messages.
const SYSTEM_NAME: &str = "a bare program with files by path";
const STORE_NAME: &str = "a bare program with a key-value store";

/// A program with a file system of paths and handles linked into it.
pub struct PathProgram {
    sim: Sim,
    medium: Mtd,
    make: Box<dyn Make>,
    costs: Costs,
    epoch_s: u64,
    fs: Option<Box<dyn PathFileSystem>>,
    handles: Handles<Handle>,
    /// For reads at which nobody looks.
    buffer: Vec<u8>,
}

/// An open file or directory.
#[derive(Clone, Debug)]
struct Handle {
    /// Without needless slashes.
    path: Vec<u8>,
    flags: OpenFlags,
    /// `None`: a directory.
    file: Option<FileHandle>,
    position: u64,
}

/// Of the root.
const ROOT_INO: Ino = 1;

impl PathProgram {
    /// A machine with nothing mounted. `epoch_s`: the time of day at virtual time 0, in seconds since 1970.
    pub fn new(sim: Sim, medium: Mtd, make: Box<dyn Make>, costs: Costs, epoch_s: u64) -> PathProgram {
        causes::register(&sim);
        PathProgram { sim, medium, make, costs, epoch_s, fs: None, handles: Handles::default(), buffer: Vec::new() }
    }

    /// What it stands on.
    pub fn medium(&self) -> &Mtd {
        &self.medium
    }

    /// The mounted file system.
    pub fn fs(&mut self) -> Option<&mut dyn PathFileSystem> {
        match &mut self.fs {
            Some(fs) => Some(&mut **fs),
            None => None,
        }
    }

    /// A call about files into the file system, which gives its operations causes of its own where it can.
    fn call<R>(&mut self, why: &'static Reason, body: impl FnOnce(&mut dyn PathFileSystem) -> Result<R>) -> Answer<R> {
        let fs = self.fs.as_deref_mut().ok_or(Errno::NoDev)?;
        if fs.has_store() {
            return Err(Refusal::Lacks { system: STORE_NAME, what: "files (its steps are set, get, delete, iterate)" });
        }
        let _why = self.sim.because(why);
        Ok(body(fs)?)
    }

    /// A call about keys into the store that stands in the place of a file system. All of its operations have causes of their own.
    fn call_store<R>(&mut self, body: impl FnOnce(&mut dyn KeyValueStore) -> Result<R>) -> Answer<R> {
        let fs = self.fs.as_deref_mut().ok_or(Errno::NoDev)?;
        match fs.store() {
            Some(store) => Ok(body(store)?),
            None => Err(Refusal::Lacks { system: SYSTEM_NAME, what: "keys and values" }),
        }
    }

    fn computes(&self, duration_ns: u64) {
        if duration_ns > 0 {
            self.sim.compute(duration_ns);
            self.sim.consume(self.costs.cpu_power, duration_ns);
        }
    }

    fn copies(&self, bytes: usize) {
        self.computes(bytes.div_ceil(crate::PIECE_BYTES) as u64 * self.costs.page_ns);
    }

    /// What a program is told of a file: times, owners and permissions stand nowhere.
    fn stat_of(&self, path: &[u8], kind: FileKind, size_bytes: u64) -> Stat {
        let none = TimeSpec::default();
        Stat {
            ino: ino_of(path),
            kind,
            permissions: if kind == FileKind::Directory { 0o755 } else { 0o644 },
            links: 1,
            uid: 0,
            gid: 0,
            device: 0,
            size_bytes,
            blocks: size_bytes.div_ceil(STAT_BLOCK_BYTES),
            accessed: none,
            modified: none,
            changed: none,
        }
    }
}

/// A path without needless slashes, "." and "..": "/" is the root.
fn plain(path: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            _ => names.push(name),
        }
    }
    let mut plain = Vec::with_capacity(path.len() + 1);
    for name in names {
        plain.push(b'/');
        plain.extend_from_slice(name);
    }
    if plain.is_empty() {
        plain.push(b'/');
    }
    plain
}

/// The number that stands for a plain path where programs expect inodes (FNV-1a).
fn ino_of(path: &[u8]) -> Ino {
    if path == b"/" {
        return ROOT_INO;
    }
    let hash = path.iter().fold(0x811c_9dc5_u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash.max(ROOT_INO + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_plain_however_they_are_written() {
        for (path, expected) in
            [("", "/"), ("a", "/a"), ("//a/./b/", "/a/b"), ("a/../b", "/b"), ("../..", "/"), ("/a/b/..", "/a")]
        {
            assert_eq!(plain(path.as_bytes()), expected.as_bytes(), "{path}");
        }
        assert_eq!(ino_of(&plain(b".")), ROOT_INO);
        assert_ne!(ino_of(&plain(b"a")), ino_of(&plain(b"b")));
    }
}
