//! Power cuts at device writes: what is left of files, by what had been promised when the power went away.
#![allow(dead_code)]

use crate::system::{Fs, System};
use ffslab_rtems::libio::OpenFlags;
use ffslab_rtems::Quirks;
use std::collections::BTreeMap;

const DISK_BYTES: usize = 1 << 20;
const FILES: usize = 12;
const FILE_BYTES: usize = 3_000;

/// The last call on a file that had returned when the power was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    Written,
    /// Closed, never synced.
    Closed,
    /// Synced, still open.
    Synced,
    /// Closed, then opened and synced: what an application does that wants to be sure.
    ClosedThenSynced,
}

/// What a mount finds of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    pub whole: u32,
    /// A beginning of it, perhaps empty.
    pub short: u32,
    pub other_content: u32,
    /// No such name, or an error.
    pub gone: u32,
}

#[derive(Default)]
pub struct Table {
    pub cuts: u32,
    pub not_mountable: u32,
    pub outcomes: BTreeMap<Promise, Outcomes>,
}

fn name(file: usize) -> String {
    format!("/mnt/file{file:02}.dat")
}

fn content(file: usize) -> Vec<u8> {
    (0..FILE_BYTES).map(|i| 1 + ((i * 7 + file * 13) % 251) as u8).collect()
}

/// Writes the files until the power goes away; each third only closes, syncs, or does both.
fn work(system: &mut System, promises: &mut BTreeMap<usize, Promise>) {
    for file in 0..FILES {
        let mut reached = |system: &System, promise| {
            let lives = !system.libio.cache().device(system.disk).power_is_cut();
            if lives {
                promises.insert(file, promise);
            }
            lives
        };
        let path = name(file);
        let Ok(fd) = system.libio.open(path.as_bytes(), OpenFlags::CREATE, 0o644) else { return };
        if system.libio.write(fd, &content(file)).is_err() || !reached(system, Promise::Written) {
            return;
        }
        if file % 3 == 1 {
            if system.libio.fsync(fd).is_err() || !reached(system, Promise::Synced) {
                return;
            }
            // Stays open.
            continue;
        }
        if system.libio.close(fd).is_err() || !reached(system, Promise::Closed) {
            return;
        }
        if file % 3 == 2 {
            let Ok(fd) = system.libio.open(path.as_bytes(), OpenFlags::WRITE, 0) else { return };
            if system.libio.fsync(fd).is_err() || !reached(system, Promise::ClosedThenSynced) {
                return;
            }
            let _ = system.libio.close(fd);
        }
    }
}

/// Buffers that the whole work writes.
pub fn writes_count(fs: Fs, quirks: Quirks) -> u64 {
    let mut system = System::new(fs, quirks, DISK_BYTES);
    let before = system.libio.cache().counts();
    work(&mut system, &mut BTreeMap::new());
    let counts = system.libio.cache().counts() - before;
    counts.named().into_iter().find(|(name, _)| *name == "dev_write_buffers").map_or(0, |(_, value)| value)
}

/// Cuts after so many written buffers each; `judge` sees each device as it was left.
pub fn cut(fs: Fs, quirks: Quirks, cuts: impl Iterator<Item = u64>, mut judge: impl FnMut(&[u8])) -> Table {
    let mut table = Table::default();
    for writes in cuts {
        let mut system = System::new(fs, quirks, DISK_BYTES);
        let disk = system.disk;
        system.libio.cache_mut().syncdev(disk).unwrap();
        system.libio.cache_mut().device_mut(disk).cut_power_after(writes);
        let mut promises = BTreeMap::new();
        work(&mut system, &mut promises);
        let image = system.libio.cache().device(disk).image().to_vec();
        judge(&image);
        table.cuts += 1;
        let mut system = System::with_image(fs, quirks, image);
        if system.mount().is_err() {
            table.not_mountable += 1;
            continue;
        }
        for (file, promise) in promises {
            let outcomes = table.outcomes.entry(promise).or_default();
            let expected = content(file);
            match system.read_file(&name(file)) {
                Ok(data) if data == expected => outcomes.whole += 1,
                Ok(data) if expected.starts_with(&data) => outcomes.short += 1,
                Ok(_) => outcomes.other_content += 1,
                Err(_) => outcomes.gone += 1,
            }
        }
    }
    table
}
