//! A volume with its open files, which borrow it. All unsafe code of the crate stands here.
//!
//! What makes it sound: the volume lies on the heap, never moves, and is freed by [`Volume`] alone, after its files; a file never leaves [`Volume`],
//! which lends it for as long as it is borrowed itself. No type here can go to another thread.

use crate::sectors::Disk;
use fatfs::{File, FileSystem};
use std::io;
use std::ptr::NonNull;

pub(crate) struct Volume {
    fs: NonNull<FileSystem<Disk>>,
    files: Vec<Option<File<'static, Disk>>>,
}

impl Volume {
    pub fn new(fs: FileSystem<Disk>) -> Volume {
        Volume { fs: NonNull::from(Box::leak(Box::new(fs))), files: Vec::new() }
    }

    pub fn fs(&self) -> &FileSystem<Disk> {
        // It lives until the drop, and nobody has it exclusively.
        unsafe { self.fs.as_ref() }
    }

    /// Keeps the file that `find` opens; its number.
    pub fn open<E>(
        &mut self,
        find: impl for<'a> FnOnce(&'a FileSystem<Disk>) -> Result<File<'a, Disk>, E>,
    ) -> Result<usize, E> {
        // The file is dropped before the volume is.
        let fs: &'static FileSystem<Disk> = unsafe { self.fs.as_ref() };
        let file = find(fs)?;
        let number = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        match self.files.get_mut(number) {
            Some(free) => *free = Some(file),
            None => self.files.push(Some(file)),
        }
        Ok(number)
    }

    /// What `body` does with an open file; `None`: there is none of this number.
    pub fn with_file<R>(&mut self, number: usize, body: impl FnOnce(&mut File<'_, Disk>) -> R) -> Option<R> {
        self.files.get_mut(number)?.as_mut().map(body)
    }

    /// Ends a file, which writes its entry if it has changed.
    pub fn close(&mut self, number: usize) {
        if let Some(file) = self.files.get_mut(number) {
            *file = None;
        }
    }

    /// All files are closed by then.
    pub fn unmount(mut self) -> io::Result<()> {
        self.files.clear();
        let fs = self.fs;
        std::mem::forget(self);
        // What a drop would do.
        unsafe { Box::from_raw(fs.as_ptr()) }.unmount()
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        self.files.clear();
        drop(unsafe { Box::from_raw(self.fs.as_ptr()) });
    }
}
