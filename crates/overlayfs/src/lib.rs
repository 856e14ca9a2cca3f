//! # overlayfs: a file system that is written, laid over such as are not
//!
//! **Role.** What a router or an updated device has as its root: the files of a lower file system (squashfs, EROFS, any other), and
//! above them those that were changed, which an upper one keeps (UBIFS, JFFS2). [`Overlay`] answers the calls of programs, and makes
//! of each the calls that the kernel makes on its layers: each layer is a [`Vfs`] with its own names, pages and inodes in memory.
//!
//! **Follows.** `fs/overlayfs` of Linux 6.1 with the defaults of Debian's kernel (`index`, `metacopy`, `redirect_dir`, `nfs_export` and `xino` off,
//! redirects followed): `super.c` (mount, work directory), `namei.c` (look-up through the layers), `copy_up.c`, `dir.c` (whiteouts, opaque
//! directories, renames), `inode.c`, `readdir.c` (merged lists), `file.c`, `util.c`.
//!
//! **Leaves out.** Index, metacopy and redirects, so a hard link of the lower file system ends when one of its names is copied up, and a directory
//! that has a lower one is not renamed (`EXDEV`); flags of chattr(1); a lower file that somebody changes below the overlay.

mod calls;
mod copy_up;
mod files;
mod inodes;
mod links;
mod listing;
mod lookup;
mod marks;
mod mount;
mod names;
mod removal;

pub use mount::{Options, Place};

use ffslab_fs::{Errno, Ino, Result};
use ffslab_linux::Vfs;
use ffslab_sim::Sim;
use ffslab_system::Calls;
use inodes::{Names, Opened};
use std::cell::RefMut;
use std::rc::Rc;

/// What is mounted below: its system calls and what they keep in memory.
pub trait Mounted {
    fn vfs(&self) -> RefMut<'_, Vfs>;
}

/// A directory of a mount that is a layer.
#[derive(Clone)]
pub struct Layer {
    pub mount: Rc<dyn Mounted>,
    /// Path of the directory on that mount, without slashes around it; "" is its root.
    pub directory: Vec<u8>,
}

/// The overlay. Paths are relative to its own root.
pub struct Overlay {
    sim: Sim,
    upper: Layer,
    /// On the mount of `upper`; the kernel makes `work` in it.
    work_base: Vec<u8>,
    lowers: Vec<Layer>,
    /// Whether all layers are directories of one mount.
    is_one_mount: bool,
    names: Names,
    files: Vec<Option<Opened>>,
    state: Option<State>,
    /// How many names were given to temporary files since the machine began (`temp_id` of `dir.c`).
    temporary: u32,
}

/// What it knows while it is mounted.
struct State {
    /// The upper file system has files without names (`O_TMPFILE`).
    has_unnamed: bool,
    /// The upper file system keeps no extended attributes.
    no_marks: bool,
    /// A whiteout in the work directory, of which others are made by link(2).
    whiteout: Option<Vec<u8>>,
    shares_whiteouts: bool,
    /// For directories, which have numbers of their own (`get_next_ino`).
    last_ino: Ino,
}

impl Overlay {
    /// `work_base` is a path on the mount of `upper`. `is_one_mount`: whether all layers are directories of one mount.
    pub fn new(upper: Layer, work_base: Vec<u8>, lowers: Vec<Layer>, is_one_mount: bool) -> Overlay {
        let (sim, names) = (upper.mount.vfs().sim().clone(), Names::default());
        Overlay { sim, upper, work_base, lowers, is_one_mount, names, files: Vec::new(), state: None, temporary: 0 }
    }

    pub fn is_mounted(&self) -> bool {
        self.state.is_some()
    }

    /// Power off or reset: what is in memory is gone.
    pub fn crash(&mut self) {
        self.forget();
        self.temporary = 0;
    }

    fn forget(&mut self) {
        self.names = Names::default();
        self.files.clear();
        self.state = None;
    }

    fn state(&mut self) -> Result<&mut State> {
        self.state.as_mut().ok_or(Errno::NoDev)
    }

    /// A system call of a program: what it takes is that of any other call.
    fn call<R>(&mut self, body: impl FnOnce(&mut Overlay) -> Result<R>) -> Result<R> {
        if self.state.is_none() {
            return Err(Errno::NoDev);
        }
        self.upper.mount.vfs().call_begins();
        let result = body(self);
        self.upper.mount.vfs().call_ends();
        result
    }

    /// A call of the kernel itself on the upper mount.
    fn above<R>(&self, call: impl FnOnce(&mut Vfs) -> R) -> R {
        self.upper.with(call)
    }

    /// The path of a name of the overlay on the upper mount.
    fn upper_path(&self, path: &[u8]) -> Vec<u8> {
        self.upper.path(path)
    }
}

impl Layer {
    /// A call of the kernel itself on this mount.
    fn with<R>(&self, call: impl FnOnce(&mut Vfs) -> R) -> R {
        self.mount.vfs().as_kernel(call)
    }

    /// The path of a name of the overlay on this mount.
    fn path(&self, path: &[u8]) -> Vec<u8> {
        joined(&[b"", &self.directory, path])
    }
}

/// Parts of a path, with a slash before each that is not empty; "/" if none is left.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut path = Vec::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        path.push(b'/');
        path.extend_from_slice(part);
    }
    if path.is_empty() {
        path.push(b'/');
    }
    path
}
