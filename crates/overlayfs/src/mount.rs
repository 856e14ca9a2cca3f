//! Mounting: options, the work directory, and what the kernel tries out of the upper file system (`fs/overlayfs/super.c`).

use crate::inodes::{Inode, Known};
use crate::lookup::found;
use crate::marks::{IMPURE, OPAQUE};
use crate::{joined, Overlay, State};
use ffslab_fs::{Errno, FileKind, RenameFlags, Result, SetAttr};
use ffslab_system::{Calls, OpenFlags, SystemError};
use std::cell::RefCell;
use std::rc::Rc;

/// A directory as an option names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(pub String);

/// What stands in the options of mount(8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The first one is on top.
    pub lowers: Vec<Place>,
    pub upper: Place,
    pub work: Place,
}

impl Options {
    /// # Errors
    /// What is missing or not known, in words.
    pub fn of(options: &[String]) -> std::result::Result<Options, String> {
        let (mut lowers, mut upper, mut work) = (None, None, None);
        for option in options {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match (name, value) {
                ("lowerdir", value) => {
                    lowers = Some(value.split(':').map(Place::of).collect::<std::result::Result<Vec<_>, _>>()?)
                }
                ("upperdir", value) => upper = Some(Place::of(value)?),
                ("workdir", value) => work = Some(Place::of(value)?),
                ("index" | "metacopy" | "redirect_dir" | "nfs_export" | "xino", "off") => {}
                ("index" | "metacopy" | "redirect_dir" | "nfs_export" | "xino", _) => {
                    return Err(format!(
                        "option \"{option}\": only \"{name}=off\" is simulated, as kernels have it by default"
                    ));
                }
                _ => {
                    let has = "\"lowerdir=DIR[:DIR...]\", \"upperdir=DIR\" and \"workdir=DIR\"";
                    return Err(format!("unknown mount option \"{option}\": overlayfs has {has}"));
                }
            }
        }
        let missing = |name: &str| {
            format!(
                "{name} is missing: options = [\"lowerdir=/\", \"upperdir=/overlay/upper\", \"workdir=/overlay/work\"]"
            )
        };
        Ok(Options {
            lowers: lowers.ok_or_else(|| missing("lowerdir"))?,
            upper: upper.ok_or_else(|| missing("upperdir"))?,
            work: work.ok_or_else(|| missing("workdir"))?,
        })
    }
}

impl Place {
    fn of(text: &str) -> std::result::Result<Place, String> {
        let is_part = |part: &str| part != "." && part != "..";
        if !text.starts_with('/') || !text.split('/').all(is_part) {
            return Err(format!("\"{text}\" is no directory: a path from / on is needed, such as \"/overlay/upper\""));
        }
        Ok(Place(text.to_string()))
    }
}

impl Overlay {
    /// Mounts it; the mounts of its layers are mounted before. The directories of the upper layer are made where they are missing, as
    /// who starts a device does before (`mount_overlay` of OpenWrt's fstools).
    ///
    /// # Errors
    /// A layer that is not there; what its file systems say.
    pub fn mount(&mut self) -> std::result::Result<(), SystemError> {
        if self.is_mounted() {
            return Err(SystemError::MountedAlready { what: "the overlay", has_remount: false });
        }
        let said = |what: &str, error: Errno| SystemError::unusable(format!("{what}: {error}"));
        for layer in &self.lowers {
            let path = layer.path(b"");
            match layer.with(|vfs| found(vfs, &path)) {
                Ok(Some(stat)) if stat.kind == FileKind::Directory => {}
                Ok(_) => {
                    let path = String::from_utf8_lossy(&path).into_owned();
                    return Err(SystemError::unusable(format!("lowerdir: \"{path}\" of that mount is no directory")));
                }
                Err(error) => return Err(said("lowerdir", error)),
            }
        }
        let upper = self.upper.path(b"");
        let base = joined(&[&self.work_base]);
        for (what, path) in [("upperdir", &upper), ("workdir", &base)] {
            self.make_missing(path).map_err(|error| said(what, error))?;
        }
        let state = State { has_unnamed: false, no_marks: false, whiteout: None, shares_whiteouts: true, last_ino: 0 };
        self.state = Some(state);
        let done = self.make_work_directory().and_then(|()| self.take_root());
        done.map_err(|error| {
            self.forget();
            said("workdir", error)
        })
    }

    fn make_missing(&self, path: &[u8]) -> Result<()> {
        for end in (1..=path.len()).filter(|&end| end == path.len() || path[end] == b'/') {
            let directory = &path[..end];
            self.above(|vfs| match found(vfs, directory)? {
                Some(stat) if stat.kind == FileKind::Directory => Ok(()),
                Some(_) => Err(Errno::NotDir),
                None => Ok(vfs.mkdir(directory, 0o755)?),
            })?;
        }
        Ok(())
    }

    /// `ovl_make_workdir`: what an earlier mount has left goes, then the kernel tries what the upper file system can do.
    fn make_work_directory(&mut self) -> Result<()> {
        let work = joined(&[&self.work_base, b"work"]);
        if self.above(|vfs| found(vfs, &work))?.is_some() {
            self.empty(&work, 0)?;
        }
        self.above(|vfs| {
            vfs.mkdir(&work, 0)?;
            vfs.change(&work, &SetAttr { permissions: Some(0), ..SetAttr::default() })
        })?;
        let base = joined(&[&self.work_base]);
        self.above(|vfs| vfs.readdir_path(&base))?;
        let flags = OpenFlags { read: false, write: true, unnamed: true, ..OpenFlags::READ };
        let has_unnamed = self.above(|vfs| match vfs.open(&work, flags, 0).map_err(Errno::from) {
            Ok(fd) => Ok(vfs.close(fd).map(|()| true)?),
            Err(Errno::PowerCut) => Err(Errno::PowerCut),
            Err(_) => Ok(false),
        })?;
        self.state()?.has_unnamed = has_unnamed;
        self.try_whiteout()?;
        let set = self.set_attribute(crate::marks::Target::Path(&work), OPAQUE, b"0");
        match set {
            Err(Errno::PowerCut) => return Err(Errno::PowerCut),
            Err(_) => self.state()?.no_marks = true,
            Ok(()) => self.above(|vfs| vfs.lremovexattr(&work, OPAQUE))?,
        }
        Ok(())
    }

    /// `ovl_check_rename_whiteout`. Without it renames fail that need one.
    fn try_whiteout(&mut self) -> Result<()> {
        let (temporary, moved) = (self.temporary(), self.temporary());
        self.above(|vfs| {
            let flags = OpenFlags { write: true, create: true, exclusive: true, ..OpenFlags::READ };
            let fd = vfs.open(&temporary, flags, 0)?;
            vfs.close(fd)
        })?;
        match self.above(|vfs| vfs.rename_with(&temporary, &moved, RenameFlags::WHITEOUT)).map_err(Errno::from) {
            Ok(()) => {
                self.clean_up(&temporary)?;
                self.clean_up(&moved)
            }
            Err(Errno::PowerCut) => Err(Errno::PowerCut),
            Err(_) => self.clean_up(&temporary),
        }
    }

    /// `ovl_workdir_cleanup`: a directory is tried first, then what is in it goes, two levels deep.
    fn empty(&self, path: &[u8], level: u32) -> Result<()> {
        let is_directory = self.above(|vfs| vfs.lstat(path)).is_ok_and(|stat| stat.kind == FileKind::Directory);
        if !is_directory || level > 1 {
            return self.clean_up(path);
        }
        match self.above(|vfs| vfs.rmdir(path)).map_err(Errno::from) {
            Ok(()) => return Ok(()),
            Err(Errno::PowerCut) => return Err(Errno::PowerCut),
            Err(_) => {}
        }
        for entry in self.above(|vfs| vfs.readdir_path(path))? {
            self.empty(&joined(&[&path[1..], &entry.name]), level + 1)?;
        }
        self.clean_up(path)
    }

    /// `ovl_get_root`
    fn take_root(&mut self) -> Result<()> {
        let is_impure = self.upper_mark(b"", IMPURE).is_some_and(|value| value == b"y");
        let number = self.above(|vfs| vfs.lstat(&self.upper_path(b"")))?.ino;
        let root = Inode {
            is_upper: true,
            lowers: (0..self.lowers.len()).collect(),
            is_impure,
            may_have_whiteouts: true,
            number: Some(number),
            ..Inode::new(b"", FileKind::Directory)
        };
        self.names.set(b"", Known::Is(Rc::new(RefCell::new(root))));
        Ok(())
    }

    /// # Errors
    /// `Busy`: a file is open.
    pub fn umount(&mut self) -> Result<()> {
        if !self.is_mounted() {
            return Err(Errno::Inval);
        }
        if self.has_open_files() {
            return Err(Errno::Busy);
        }
        self.forget();
        Ok(())
    }
}
