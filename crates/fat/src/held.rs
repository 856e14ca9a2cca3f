//! A volume with its clock, and its open files, which borrow it. All unsafe code of the crate stands here.
//!
//! What makes it sound: volume and clock lie on the heap, never move, and are freed by [`Volume`] alone, first the files, then the volume, then the
//! clock; a file never leaves [`Volume`], which lends it for as long as it is borrowed itself; nobody uses the type meanwhile, because each
//! call takes it exclusively.

use crate::clock::Clock;
use crate::sectors::Disk;
use fatfs::{File, FileSystem, FsOptions};
use std::io;
use std::ptr::NonNull;

pub(crate) struct Volume {
    fs: NonNull<FileSystem<Disk>>,
    clock: NonNull<Clock>,
    files: Vec<Option<File<'static, Disk>>>,
}

impl Volume {
    /// Errors: there is no volume.
    pub fn mount(disk: Disk, options: FsOptions) -> io::Result<Volume> {
        let clock = NonNull::from(Box::leak(Box::new(Clock::default())));
        // The volume that has it is dropped before.
        let lent: &'static Clock = unsafe { clock.as_ref() };
        match FileSystem::new(disk, options.time_provider(lent)) {
            Ok(fs) => Ok(Volume { fs: NonNull::from(Box::leak(Box::new(fs))), clock, files: Vec::new() }),
            Err(error) => {
                drop(unsafe { Box::from_raw(clock.as_ptr()) });
                Err(error)
            }
        }
    }

    pub fn clock(&self) -> &Clock {
        unsafe { self.clock.as_ref() }
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
        let (fs, clock) = (self.fs, self.clock);
        std::mem::forget(self);
        // What a drop would do.
        let unmounted = unsafe { Box::from_raw(fs.as_ptr()) }.unmount();
        drop(unsafe { Box::from_raw(clock.as_ptr()) });
        unmounted
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        self.files.clear();
        drop(unsafe { Box::from_raw(self.fs.as_ptr()) });
        drop(unsafe { Box::from_raw(self.clock.as_ptr()) });
    }
}
