//! System calls: mounts, paths, descriptors.
//!
//! Follows `cpukit/libcsupport` of RTEMS cf811a4eb2: a descriptor is an index into one table of open files, calls go
//! straight to the handlers of the file system, nothing is buffered here. `pread` and `pwrite` are newlib's: three seeks
//! and a transfer; `readv` and `writev` are loops.
//!
//! The root is an IMFS, and other file systems can be mounted on its directories only.

mod calls;
mod files;
mod fs;
mod path;

pub use ffslab_system::{OpenFlags, Whence};
pub use files::Fd;
pub use fs::{
    DirEntry, FileSystem, Kind, Node, OpenFile, Stat, StatVfs, Step, S_IFBLK, S_IFCHR, S_IFDIR, S_IFIFO, S_IFLNK,
    S_IFMT, S_IFREG,
};

use crate::bdbuf::Bdbuf;
use ffslab_fs::{Errno, Unwritten};
use path::Location;

struct Mount {
    fs: Box<dyn FileSystem>,
    writable: bool,
    /// The location on which it is mounted; `None` for the root.
    point: Option<Location>,
}

/// The call interface of one RTEMS system, with its one application task.
pub struct Libio {
    cache: Bdbuf,
    mounts: Vec<Option<Mount>>,
    current: Location,
    files: Vec<Option<(usize, OpenFile)>>,
}

impl Libio {
    /// A system with a root file system and so many descriptors (`CONFIGURE_MAXIMUM_FILE_DESCRIPTORS`).
    pub fn new(cache: Bdbuf, root: Box<dyn FileSystem>, descriptors_count: usize) -> Libio {
        let node = root.root();
        Libio {
            cache,
            mounts: vec![Some(Mount { fs: root, writable: true, point: None })],
            current: Location { mount: 0, node },
            files: vec![None; descriptors_count],
        }
    }

    pub fn cache(&self) -> &Bdbuf {
        &self.cache
    }

    pub fn cache_mut(&mut self) -> &mut Bdbuf {
        &mut self.cache
    }

    /// Memory blocks that all files hold, tables included (IMFS).
    pub fn memory_blocks(&self) -> u64 {
        self.mounts.iter().flatten().map(|mount| mount.fs.memory_blocks()).sum()
    }

    /// What is not on the media yet.
    pub fn unwritten(&mut self) -> Unwritten {
        let mut left = Unwritten { buffered_bytes: self.cache.unwritten_bytes(), ..Unwritten::default() };
        for mount in self.mounts.iter_mut().flatten() {
            let of_fs = mount.fs.unwritten();
            left.inodes += of_fs.inodes;
            left.buffered_bytes += of_fs.buffered_bytes;
        }
        left
    }

    /// Every mounted file system writes out what it keeps in memory itself, as YAFFS Direct does in `yaffs_sync`. What is in
    /// the block cache stays there until its device's node is synced.
    pub fn sync_file_systems(&mut self) -> Result<(), Errno> {
        for mount in 0..self.mounts.len() {
            if self.mounts[mount].is_some() {
                self.locked(mount, |fs, cache| fs.sync(cache))?;
            }
        }
        Ok(())
    }

    /// The application sleeps until this instant.
    pub fn sleep_until(&mut self, at_ns: u64) {
        self.cache.sleep_until(at_ns);
    }

    /// Mounts a file system on a directory. The file system itself was read from its device when it was opened.
    pub fn mount(&mut self, mut fs: Box<dyn FileSystem>, target: &[u8], writable: bool) -> Result<(), Errno> {
        let flags = path::Flags { follow: true, write: true, ..path::Flags::default() };
        let result = self.evaluate(target, flags).and_then(|found| {
            let mount = self.mounts.iter().position(Option::is_none).unwrap_or(self.mounts.len());
            if self.is_mount_root(found.at) {
                self.end(found.at);
                return Err(Errno::Busy);
            }
            let placed = self.with(found.at.mount, |fs, _| fs.mount_on(found.at.node, mount));
            if placed.is_err() {
                self.end(found.at);
            } else {
                // The location is not freed: the mount keeps it as its mount point.
                self.unlock(found.at.mount);
            }
            placed.map(|()| (mount, found.at))
        });
        match result {
            Ok((mount, point)) => {
                self.mounts.resize_with(self.mounts.len().max(mount + 1), || None);
                self.mounts[mount] = Some(Mount { fs, writable, point: Some(point) });
                Ok(())
            }
            Err(error) => {
                let _ = fs.shut_down(&mut self.cache);
                Err(error)
            }
        }
    }

    /// Ends a mount; its files must be closed.
    pub fn unmount(&mut self, path: &[u8]) -> Result<(), Errno> {
        let found = self.evaluate(path, path::Flags { follow: true, ..path::Flags::default() })?;
        let mount = found.at.mount;
        let is_root = self.is_mount_root(found.at);
        self.end(found.at);
        if !is_root {
            return Err(Errno::Acces);
        }
        let in_use = self.files.iter().flatten().any(|(of, _)| *of == mount);
        let Some(point) = self.mount_point_of(mount) else { return Err(Errno::Busy) };
        if in_use || self.current.mount == mount {
            // RTEMS would wait until the last file is closed. With a single task that would be for ever.
            return Err(Errno::Busy);
        }
        self.with(point.mount, |fs, _| fs.unmount_from(mount))?;
        let mut gone = self.mounts[mount].take();
        self.free_inside(point);
        self.unlock(point.mount);
        match &mut gone {
            Some(mount) => mount.fs.shut_down(&mut self.cache),
            None => Ok(()),
        }
    }

    // ---- mounts ------------------------------------------------------------------------------------------------------

    fn with<R>(&mut self, mount: usize, f: impl FnOnce(&mut dyn FileSystem, &mut Bdbuf) -> R) -> R {
        match &mut self.mounts[mount] {
            Some(mount) => f(mount.fs.as_mut(), &mut self.cache),
            None => unreachable!("locations do not outlive their mount: unmount refuses while a file is open"),
        }
    }

    fn unlock(&mut self, mount: usize) {
        self.with(mount, |fs, cache| fs.unlock(cache));
    }

    /// Charges for reading the clock, and returns the time afterwards in nanoseconds.
    pub fn read_clock_ns(&mut self) -> u64 {
        self.cache.cpu.read_clock();
        self.cache.sim().now_ns()
    }

    /// Calls `f` for an open file while the lock of its file system is held.
    fn locked<R>(&mut self, mount: usize, f: impl FnOnce(&mut dyn FileSystem, &mut Bdbuf) -> R) -> R {
        self.with(mount, |fs, cache| {
            let result = f(fs, cache);
            fs.unlock(cache);
            result
        })
    }

    fn root(&self) -> Location {
        Location { mount: 0, node: self.mount_root(0) }
    }

    fn mount_root(&self, mount: usize) -> Node {
        match &self.mounts[mount] {
            Some(mount) => mount.fs.root(),
            None => self.mount_root(0),
        }
    }

    fn is_mount_root(&self, at: Location) -> bool {
        self.mount_root(at.mount).id == at.node.id
    }

    fn mount_point_of(&self, mount: usize) -> Option<Location> {
        self.mounts[mount].as_ref().and_then(|mount| mount.point)
    }

    fn is_writable(&self, mount: usize) -> bool {
        self.mounts[mount].as_ref().is_some_and(|mount| mount.writable)
    }
}
