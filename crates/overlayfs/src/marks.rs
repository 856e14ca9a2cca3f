//! What the overlay writes beside the files of its upper layer: extended attributes and whiteouts (`fs/overlayfs/overlayfs.h`, `util.c`).

use crate::inodes::Node;
use crate::{joined, Overlay};
use ffslab_fs::{Errno, FileKind, Result, Stat, XattrMode};
use ffslab_system::{Calls, Fd};

/// What all of its attributes begin with; programs see none of them.
pub(crate) const OWN: &[u8] = b"trusted.overlay.";
/// "y" on a directory: what lower layers have there is hidden.
pub(crate) const OPAQUE: &[u8] = b"trusted.overlay.opaque";
/// "y" on a directory: it may hold what was copied up.
pub(crate) const IMPURE: &[u8] = b"trusted.overlay.impure";
/// The lower inode of which it is a copy, as a file handle; empty where the lower file system has none.
pub(crate) const ORIGIN: &[u8] = b"trusted.overlay.origin";
pub(crate) const REDIRECT: &[u8] = b"trusted.overlay.redirect";
pub(crate) const METACOPY: &[u8] = b"trusted.overlay.metacopy";
pub(crate) const PROTECTED: &[u8] = b"trusted.overlay.protattr";

/// A character device 0:0 hides what lower layers have by this name.
pub(crate) fn is_whiteout(stat: &Stat) -> bool {
    stat.kind == FileKind::CharDevice && stat.device == 0
}

/// What has an upper inode: a name, or an open file that has none yet.
#[derive(Clone, Copy)]
pub(crate) enum Target<'t> {
    /// A path on the upper mount.
    Path(&'t [u8]),
    Open(Fd),
}

impl Overlay {
    pub(crate) fn upper_mark(&self, path: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        self.above(|vfs| vfs.lgetxattr(&self.upper_path(path), name)).ok()
    }

    pub(crate) fn lower_mark(&self, layer: usize, path: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        let below = &self.lowers[layer];
        below.with(|vfs| vfs.lgetxattr(&below.path(path), name)).ok()
    }

    pub(crate) fn set_attribute(&self, target: Target<'_>, name: &[u8], value: &[u8]) -> Result<()> {
        self.above(|vfs| match target {
            Target::Path(path) => Ok(vfs.lsetxattr(path, name, value, XattrMode::Any)?),
            Target::Open(fd) => vfs.fsetxattr(fd, name, value, XattrMode::Any),
        })
    }

    /// `ovl_check_setxattr`: a file system without attributes is told once. Whether the mark was set.
    pub(crate) fn set_mark(&mut self, target: Target<'_>, name: &[u8], value: &[u8]) -> Result<bool> {
        if self.state()?.no_marks {
            return Ok(false);
        }
        match self.set_attribute(target, name, value) {
            Err(Errno::NotSup) => {
                self.state()?.no_marks = true;
                Ok(false)
            }
            set => set.map(|()| true),
        }
    }

    /// Before something that was copied up gets a name in this directory (`ovl_set_impure`).
    pub(crate) fn set_impure(&mut self, directory: &Node) -> Result<()> {
        if directory.borrow().is_impure {
            return Ok(());
        }
        let path = self.upper_path(&directory.borrow().path);
        self.set_mark(Target::Path(&path), IMPURE, b"y")?;
        directory.borrow_mut().is_impure = true;
        Ok(())
    }

    /// `ovl_set_opaque`. A directory without marks cannot hide anything: `NotSup`, or with `may_fail` nothing.
    pub(crate) fn set_opaque(&mut self, path: &[u8], may_fail: bool) -> Result<bool> {
        match self.set_mark(Target::Path(path), OPAQUE, b"y") {
            Ok(false) if !may_fail => Err(Errno::Io),
            Err(error) if error == Errno::PowerCut || !may_fail => Err(error),
            set => Ok(set.unwrap_or(false)),
        }
    }

    /// `ovl_set_origin`: an upper inode says of which lower one it is a copy.
    pub(crate) fn set_origin(&mut self, layer: usize, path: &[u8], target: Target<'_>) -> Result<()> {
        let below = &self.lowers[layer];
        let handle = below.with(|vfs| {
            let has_handles = vfs.fs().is_some_and(|fs| matches!(fs.name(), "jffs2" | "squashfs" | "erofs" | "yaffs2"));
            Ok::<_, Errno>(if has_handles { handle_of(vfs.lstat(&below.path(path))?.ino) } else { Vec::new() })
        })?;
        self.set_mark(target, ORIGIN, &handle).map(drop)
    }

    /// `ovl_fix_origin`: a merged directory whose upper one does not say so gets that said.
    pub(crate) fn complete_origin(&mut self, directory: &Node, path: &[u8], layer: usize) -> Result<()> {
        if self.state()?.no_marks || self.upper_mark(path, ORIGIN).is_some() {
            return Ok(());
        }
        self.set_origin(layer, path, Target::Path(&self.upper_path(path)))?;
        self.set_impure(directory)
    }

    /// The next name of a temporary file (`ovl_lookup_temp`), as a path on the upper mount.
    pub(crate) fn temporary(&mut self) -> Vec<u8> {
        self.temporary += 1;
        let name = format!("#{:x}", self.temporary);
        joined(&[&self.work_base, b"work", name.as_bytes()])
    }

    /// A whiteout in the work directory (`ovl_whiteout`): the first is made, others are links to it.
    pub(crate) fn whiteout(&mut self) -> Result<Vec<u8>> {
        let first = match self.state()?.whiteout.clone() {
            Some(first) => first,
            None => {
                let first = self.temporary();
                self.above(|vfs| vfs.mknod(&first, FileKind::CharDevice, 0, 0))?;
                self.state()?.whiteout = Some(first.clone());
                first
            }
        };
        if self.state()?.shares_whiteouts {
            let link = self.temporary();
            match self.above(|vfs| vfs.link(&first, &link)).map_err(Errno::from) {
                Ok(()) => return Ok(link),
                Err(Errno::PowerCut) => return Err(Errno::PowerCut),
                Err(error) => self.state()?.shares_whiteouts = error == Errno::MLink,
            }
        }
        self.state()?.whiteout = None;
        Ok(first)
    }

    /// `ovl_cleanup`: what is in the work directory goes. Like the kernel's, it only tells the log of an error.
    pub(crate) fn clean_up(&self, path: &[u8]) -> Result<()> {
        let is_directory = self.above(|vfs| vfs.lstat(path)).is_ok_and(|stat| stat.kind == FileKind::Directory);
        let done = self.above(|vfs| if is_directory { vfs.rmdir(path) } else { vfs.unlink(path) });
        match done.map_err(Errno::from) {
            Err(Errno::PowerCut) => Err(Errno::PowerCut),
            _ => Ok(()),
        }
    }
}

/// A file handle as the attribute has it (`struct ovl_fb`): version, magic number, length, flags, type (`FILEID_INO32_GEN`), an identifier of the
/// file system, which those of flash do not have, inode and generation.
fn handle_of(ino: u32) -> Vec<u8> {
    let mut handle = vec![0, 0xfb, 29, 0, 1];
    handle.extend_from_slice(&[0; 16]);
    handle.extend_from_slice(&ino.to_le_bytes());
    handle.extend_from_slice(&[0; 4]);
    handle
}
