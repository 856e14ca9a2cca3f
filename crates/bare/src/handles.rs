//! What a bare program has open. A new handle takes the first free place of the table (`direct/yaffsfs.c`).

use ffslab_fs::Errno;
use ffslab_system::{Answer, Fd, OpenFlags};

/// Open files by their descriptors.
pub(crate) struct Handles<H>(Vec<Option<H>>);

impl<H> Default for Handles<H> {
    fn default() -> Handles<H> {
        Handles(Vec::new())
    }
}

impl<H> Handles<H> {
    pub fn open(&mut self, handle: H) -> Fd {
        let free = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        if free == self.0.len() {
            self.0.push(None);
        }
        self.0[free] = Some(handle);
        Fd(free as u32)
    }

    /// Errors: EBADF.
    pub fn get(&self, fd: Fd) -> Answer<&H> {
        Ok(self.0.get(fd.0 as usize).and_then(Option::as_ref).ok_or(Errno::BadF)?)
    }

    /// Errors: EBADF.
    pub fn get_mut(&mut self, fd: Fd) -> Answer<&mut H> {
        Ok(self.0.get_mut(fd.0 as usize).and_then(Option::as_mut).ok_or(Errno::BadF)?)
    }

    /// Errors: EBADF.
    pub fn close(&mut self, fd: Fd) -> Answer<H> {
        Ok(self.0.get_mut(fd.0 as usize).and_then(Option::take).ok_or(Errno::BadF)?)
    }

    pub fn iter(&self) -> impl Iterator<Item = &H> {
        self.0.iter().flatten()
    }

    pub fn is_any_open(&self) -> bool {
        self.iter().next().is_some()
    }

    /// The power is gone, and all handles with it.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// A flag of open that no file system linked into a program has; `None`: there is none among these.
pub(crate) fn foreign_flag(flags: &OpenFlags) -> Option<&'static str> {
    match flags {
        OpenFlags { direct: true, .. } => Some("flag \"direct\" of open"),
        OpenFlags { unnamed: true, .. } => Some("flag \"tmpfile\" of open"),
        OpenFlags { sync: true, .. } | OpenFlags { dsync: true, .. } => Some("flag \"sync\" of open (use fsync)"),
        _ => None,
    }
}
