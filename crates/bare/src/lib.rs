//! # bare: a program that calls a file system directly
//!
//! **Role.** The smallest [`ffslab_system::System`]: one program, one file system that is linked into it, one partition of NAND, as in
//! firmware without an operating system. A call is a function call: there is no page cache, no read-ahead, no write-back,
//! no dentries and no background thread. Whatever a program reads is read from the file system, each time.
//!
//! **Follows.** YAFFS Direct (`direct/yaffsfs.c`): handles, paths that are looked up name by name, reads and writes of any
//! length that go straight to the short-op cache and flash, times in whole seconds.
//!
//! [`block`] is such a program without a file system, on a block device; [`paths`] one with a file system that knows paths and
//! handles instead of inodes.
//!
//! **Leaves out.** Several mounts and devices, permissions, symbolic links in the middle of a path that leave the mount.

pub mod block;
mod calls;
mod handles;
mod path;
pub mod paths;
mod system;

use crate::handles::Handles;
use ffslab_fs::{causes, DirectFileSystem, Errno, FileKind, Ino, NoPageCache, Result, TimeSpec};
use ffslab_mtd::Mtd;
use ffslab_sim::{PowerMilliwatt, Reason, Sim};
use ffslab_system::{Answer, OpenFlags, SystemError};

/// What the program's own side costs. Calls cost nothing: they are function calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Reading the clock.
    pub clock_read_ns: u64,
    /// Copying 4 KiB between the file system and the program, or a part of it.
    pub page_ns: u64,
    /// Of the CPU while it does so.
    pub cpu_power: PowerMilliwatt,
}

/// Makes the file system of a mount.
///
/// Errors: options that it does not have, a medium that it cannot mount.
pub type Mount = Box<dyn Fn(&Mtd, &[String]) -> std::result::Result<Box<dyn DirectFileSystem>, SystemError>>;

/// A program with a file system linked into it.
pub struct Bare {
    sim: Sim,
    medium: Mtd,
    mount: Mount,
    costs: Costs,
    epoch_s: u64,
    fs: Option<Box<dyn DirectFileSystem>>,
    host: NoPageCache,
    handles: Handles<Handle>,
    /// For reads at which nobody looks.
    buffer: Vec<u8>,
}

/// An open file or directory.
#[derive(Clone, Copy, Debug)]
struct Handle {
    ino: Ino,
    kind: FileKind,
    flags: OpenFlags,
    position: u64,
}

/// Bytes of what [`Costs::page_ns`] is the price of.
const PIECE_BYTES: usize = 4096;

impl Bare {
    /// A machine with nothing mounted. `epoch_s`: the time of day at virtual time 0, in seconds since 1970.
    pub fn new(sim: Sim, medium: Mtd, mount: Mount, costs: Costs, epoch_s: u64) -> Bare {
        causes::register(&sim);
        Bare {
            sim,
            medium,
            mount,
            costs,
            epoch_s,
            fs: None,
            host: NoPageCache::default(),
            handles: Handles::default(),
            buffer: Vec::new(),
        }
    }

    /// What it stands on.
    pub fn medium(&self) -> &Mtd {
        &self.medium
    }

    /// A call into the file system: the clock that it sees is set before.
    fn call<R>(
        &mut self,
        why: &'static Reason,
        body: impl FnOnce(&mut dyn DirectFileSystem, &mut NoPageCache) -> Result<R>,
    ) -> Answer<R> {
        self.host.time = self.now();
        let fs = self.fs.as_deref_mut().ok_or(Errno::NoDev)?;
        let _why = self.sim.because(why);
        Ok(body(fs, &mut self.host)?)
    }

    /// `Y_TIME_CONVERT` of YAFFS Direct counts whole seconds.
    fn now(&self) -> TimeSpec {
        TimeSpec { seconds: (self.epoch_s + self.sim.now_ns() / 1_000_000_000) as i64, nanoseconds: 0 }
    }

    fn computes(&self, duration_ns: u64) {
        if duration_ns > 0 {
            self.sim.compute(duration_ns);
            self.sim.consume(self.costs.cpu_power, duration_ns);
        }
    }

    fn copies(&self, bytes: usize) {
        self.computes(bytes.div_ceil(PIECE_BYTES) as u64 * self.costs.page_ns);
    }
}
