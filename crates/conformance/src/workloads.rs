//! The workloads during which the power is cut: short programs of the kinds that embedded systems run.

use crate::call::{Call, How};
use crate::content::{pattern, Random};
use crate::rig::Rig;
use crate::{Failure, Features};
use ffslab_fs::{RenameFlags, XattrMode};
use ffslab_system::Calls;

pub type Setup = fn(&mut Rig) -> Result<(), Failure>;

/// A recorded workload.
pub struct Workload {
    pub name: &'static str,
    /// Prepares the medium, without power cuts. `None`: the workload begins with an erased partition.
    pub setup: Option<Setup>,
    /// The calls for a partition of this size in bytes.
    pub calls: fn(u64) -> Vec<Call>,
    /// The features that the file system must have.
    pub needs: Features,
}

const USUAL: Features = Features::NONE;
const XATTRS: Features = Features { xattrs: true, ..Features::NONE };
const RENAME_FLAGS: Features = Features { rename_flags: true, ..Features::NONE };
const UNNAMED_FILES: Features = Features { unnamed_files: true, ..Features::NONE };

pub const ALL: &[Workload] = &[
    Workload { name: "first mount", setup: None, calls: first_mount, needs: USUAL },
    Workload { name: "appends with fsync", setup: Some(a_few_files), calls: appends, needs: USUAL },
    Workload { name: "small files", setup: Some(a_few_files), calls: small_files, needs: USUAL },
    Workload { name: "overwrites, nearly full", setup: Some(nearly_full), calls: overwrites, needs: USUAL },
    Workload { name: "renames", setup: Some(a_few_files), calls: renames, needs: USUAL },
    Workload { name: "directories and links", setup: Some(a_few_files), calls: directories, needs: USUAL },
    Workload { name: "truncation", setup: Some(a_few_files), calls: truncations, needs: USUAL },
    Workload { name: "background work", setup: Some(nearly_full), calls: background, needs: USUAL },
    Workload { name: "extended attributes", setup: Some(files_with_xattrs), calls: xattrs, needs: XATTRS },
    Workload { name: "exchanges and whiteouts", setup: Some(a_few_files), calls: exchanges, needs: RENAME_FLAGS },
    Workload { name: "files without names", setup: Some(a_few_files), calls: unnamed_files, needs: UNNAMED_FILES },
];

/// Size of the file that the overwriting workloads write to.
fn target_bytes(partition_bytes: u64) -> u64 {
    partition_bytes / 8
}

fn a_few_files(rig: &mut Rig) -> Result<(), Failure> {
    for number in 0..8 {
        let path = format!("old{number}");
        rig.write_file(path.as_bytes(), &pattern(900 + number, 0, 3_000 * number as usize), false)
            .map_err(Failure::of)?;
    }
    rig.vfs.mkdir(b"old.d", 0o755).map_err(Failure::of)?;
    rig.write_file(b"old.d/f", &pattern(950, 0, 10_000), false).map_err(Failure::of)
}

fn files_with_xattrs(rig: &mut Rig) -> Result<(), Failure> {
    a_few_files(rig)?;
    for number in 0..4 {
        let path = format!("old{number}");
        for name in ["user.origin", "trusted.sum", "security.label"] {
            let value = pattern(970 + number, 0, 20 + 300 * number as usize);
            rig.vfs.setxattr(path.as_bytes(), name.as_bytes(), &value, XattrMode::Create).map_err(Failure::of)?;
        }
    }
    Ok(())
}

/// Fills the partition until statfs(2) reports a quarter as free, with as many holes in the log as overwriting leaves.
fn nearly_full(rig: &mut Rig) -> Result<(), Failure> {
    let bytes = target_bytes(rig.mtd.size_bytes()) as usize;
    rig.write_file(b"target", &pattern(800, 0, bytes), true).map_err(Failure::of)?;
    let mut number = 0;
    while rig.free_percent().map_err(Failure::of)? > 25 {
        let path = format!("static{number}");
        rig.write_file(path.as_bytes(), &pattern(801 + number, 0, 60_000), true).map_err(Failure::of)?;
        number += 1;
        if number > 10_000 {
            return Err(Failure::new(
                "statfs(2) still calls more than a quarter free after 10000 files of 60000 bytes",
            ));
        }
    }
    let mut random = Random(77);
    for round in 0..60 {
        let path = format!("static{}", random.below(number));
        let size = 40_000 + random.below(20_000) as usize;
        rig.write_file(path.as_bytes(), &pattern(2_000 + round, 0, size), true).map_err(Failure::of)?;
    }
    Ok(())
}

fn open(slot: usize, path: impl Into<String>, how: How) -> Call {
    Call::Open { slot, path: path.into(), how }
}

fn write(slot: usize, bytes: usize, seed: u64) -> Call {
    Call::Write { slot, bytes, seed }
}

fn fsync_directory(path: &str) -> Call {
    Call::FsyncDirectory { path: path.to_string() }
}

fn rename(from: impl Into<String>, to: impl Into<String>) -> Call {
    Call::Rename { from: from.into(), to: to.into() }
}

/// Writes a whole file and makes it and its name durable.
fn safe_file(path: &str, directory: &str, bytes: usize, seed: u64) -> [Call; 5] {
    let how = How { truncate: true, ..How::CREATE };
    [
        open(3, path, how),
        write(3, bytes, seed),
        Call::Fsync { slot: 3 },
        Call::Close { slot: 3 },
        fsync_directory(directory),
    ]
}

fn first_mount(_partition_bytes: u64) -> Vec<Call> {
    let mut calls = vec![Call::Sleep { ms: 20 }];
    calls.extend(safe_file("early", "/", 5_000, 1));
    calls.push(Call::Sleep { ms: 30_000 });
    calls.extend(safe_file("late", "/", 5_000, 2));
    calls.push(Call::Remount);
    calls.extend(safe_file("later", "/", 5_000, 3));
    calls
}

fn appends(_partition_bytes: u64) -> Vec<Call> {
    let mut random = Random(1);
    let mut calls = vec![open(0, "log", How::APPEND), open(1, "log.1", How { sync: true, ..How::APPEND })];
    calls.push(fsync_directory("/"));
    for number in 0..60 {
        calls.push(write(0, 1 + random.below(3_000) as usize, number));
        if random.below(4) != 0 {
            calls.push(Call::Fsync { slot: 0 });
        }
        if number % 4 == 0 {
            calls.push(write(1, 1 + random.below(6_000) as usize, 100 + number));
        }
        if number % 20 == 19 {
            calls.push(Call::DropCaches);
        }
    }
    calls
}

fn small_files(_partition_bytes: u64) -> Vec<Call> {
    let mut random = Random(2);
    let mut calls = vec![Call::Mkdir { path: "d".to_string(), permissions: 0o755 }, fsync_directory("/")];
    for number in 0..50u64 {
        let path = format!("d/f{number:04}");
        calls.push(open(0, path, How { exclusive: true, ..How::CREATE }));
        calls.push(write(0, random.below(5_000) as usize, number));
        if number % 3 != 0 {
            calls.push(Call::Fsync { slot: 0 });
        }
        calls.push(Call::Close { slot: 0 });
        if number % 5 == 4 {
            calls.push(fsync_directory("d"));
        }
        if number % 3 == 2 {
            calls.push(Call::Unlink { path: format!("d/f{:04}", number - 2) });
        }
        if number == 30 {
            calls.push(Call::Sync);
        }
    }
    calls
}

fn overwrites(partition_bytes: u64) -> Vec<Call> {
    let mut random = Random(3);
    let mut calls = vec![open(0, "target", How::WRITE), open(1, "log", How::APPEND), fsync_directory("/")];
    for number in 0..220 {
        let at = random.below(target_bytes(partition_bytes) / 4096) * 4096;
        // Most writes are whole pages, but not all.
        let (at, bytes) = if number % 7 == 0 { (at + 1_000, 2_500) } else { (at, 4_096) };
        calls.push(Call::Pwrite { slot: 0, at, bytes, seed: 100 + number });
        if number % 8 == 7 {
            calls.push(Call::Fsync { slot: 0 });
        }
        if number % 20 == 19 {
            calls.push(write(1, 700, 500 + number));
            calls.push(Call::Fsync { slot: 1 });
        }
    }
    calls
}

fn renames(_partition_bytes: u64) -> Vec<Call> {
    let mut calls = vec![Call::Mkdir { path: "a".to_string(), permissions: 0o755 }];
    calls.push(Call::Mkdir { path: "b".to_string(), permissions: 0o700 });
    calls.extend(safe_file("config", "/", 2_000, 1));
    calls.push(Call::Sync);
    for number in 0..24u64 {
        // The usual safe update: write a new file, make it durable, and rename it over the old one.
        calls.push(open(0, "config.new", How { truncate: true, ..How::CREATE }));
        calls.push(write(0, 500 + 300 * number as usize, 10 + number));
        calls.push(Call::Fsync { slot: 0 });
        calls.push(Call::Close { slot: 0 });
        calls.push(rename("config.new", "config"));
        if number % 3 == 0 {
            calls.push(fsync_directory("/"));
        }
        if number % 4 == 0 {
            calls.extend(safe_file("a/moving", "a", 1_000, 100 + number));
            calls.push(rename("a/moving", "b/moved"));
            calls.push(rename("b", "c"));
            calls.push(Call::Sync);
            calls.push(rename("c", "b"));
        }
    }
    calls
}

fn directories(_partition_bytes: u64) -> Vec<Call> {
    let mut calls = Vec::new();
    for number in 0..16u64 {
        let path = format!("d{}", number % 3);
        let mkdir = |path: &str| Call::Mkdir { path: path.to_string(), permissions: 0o755 };
        calls.push(mkdir(&path));
        calls.push(mkdir(&format!("{path}/inner")));
        calls.push(fsync_directory("/"));
        calls.push(fsync_directory(&path));
        let file = format!("{path}/inner/f");
        calls.extend(safe_file(&file, &format!("{path}/inner"), 1_500, number));
        calls.push(Call::Link { from: file.clone(), to: format!("kept{number}") });
        calls.push(Call::Symlink { target: file.clone(), path: format!("{path}/s") });
        calls.push(Call::Chmod { path: file.clone(), permissions: 0o600 });
        if number % 4 == 1 {
            calls.push(Call::Sync);
        }
        calls.push(Call::Unlink { path: file });
        calls.push(Call::Unlink { path: format!("{path}/s") });
        calls.push(Call::Rmdir { path: format!("{path}/inner") });
        if number % 4 == 2 {
            calls.push(Call::Sync);
        }
        calls.push(Call::Rmdir { path });
    }
    calls
}

fn truncations(_partition_bytes: u64) -> Vec<Call> {
    let mut random = Random(6);
    let mut calls = vec![open(0, "old7", How::WRITE), open(1, "cut", How::CREATE), fsync_directory("/")];
    for number in 0..60 {
        let slot = (number % 2) as usize;
        calls.push(Call::Pwrite {
            slot,
            at: random.below(30_000),
            bytes: 1 + random.below(9_000) as usize,
            seed: number,
        });
        calls.push(Call::Ftruncate { slot, size_bytes: random.below(35_000) });
        if number % 5 == 0 {
            calls.push(Call::Fsync { slot });
        }
        if number % 17 == 16 {
            calls.push(open(slot, if slot == 0 { "old7" } else { "cut" }, How { truncate: true, ..How::WRITE }));
        }
    }
    calls
}

fn background(partition_bytes: u64) -> Vec<Call> {
    let mut random = Random(7);
    let mut calls = vec![open(0, "target", How::WRITE)];
    for number in 0..80 {
        let at = random.below(target_bytes(partition_bytes) - 5_000);
        calls.push(Call::Pwrite { slot: 0, at, bytes: 1 + random.below(5_000) as usize, seed: 100 + number });
        if number % 4 == 3 {
            calls.push(Call::Sleep { ms: [200, 1_500, 7_000, 40_000][random.below(4) as usize] });
        }
        if number % 10 == 9 {
            // The file of the last write is deleted only after more has been written.
            let path = format!("passing{}", number / 10);
            calls.extend([open(1, path, How::CREATE), write(1, 12_000, number), Call::Close { slot: 1 }]);
        }
        if number % 10 == 5 && number > 10 {
            calls.push(Call::Unlink { path: format!("passing{}", number / 10 - 1) });
            calls.push(Call::Sync);
        }
    }
    calls
}

/// The calls of a package manager or a security module: labels on new files, labels that change, and files that are
/// deleted with their labels.
fn xattrs(_partition_bytes: u64) -> Vec<Call> {
    let mut random = Random(8);
    let mut set = |path: &str, name: &str, seed: u64| {
        let bytes = [9, 60, 700, 3_000][random.below(4) as usize];
        let (path, name) = (path.to_string(), name.to_string());
        Call::SetXattr { path, name, bytes, seed, mode: XattrMode::Any }
    };
    let remove = |path: &str, name: &str| Call::RemoveXattr { path: path.to_string(), name: name.to_string() };
    let mut calls = Vec::new();
    for number in 0..24u64 {
        let path = format!("new{}", number % 5);
        calls.extend(safe_file(&path, "/", 900, number));
        calls.push(open(0, &path, How::WRITE));
        calls.push(set(&path, "user.a", 10 + number));
        if number % 2 == 0 {
            calls.push(Call::Fsync { slot: 0 });
        }
        calls.push(set(&path, "security.label", 40 + number));
        calls.push(set(&path, "user.a", 70 + number));
        calls.push(set("old.d", "trusted.t", 100 + number));
        let old = format!("old{}", number % 4);
        calls.push(set(&old, "user.origin", 130 + number));
        if number % 3 == 1 {
            calls.push(remove(&path, "user.a"));
            calls.push(Call::Fsync { slot: 0 });
        }
        if number % 6 == 3 {
            calls.push(Call::Sync);
        }
        if number % 4 == 2 {
            // The file is deleted with its attributes: at once, or when its last descriptor is closed, after a commit.
            calls.push(Call::Unlink { path });
            if number % 8 == 2 {
                calls.push(Call::Sync);
            }
        }
        calls.push(Call::Close { slot: 0 });
    }
    calls
}

/// The calls of overlayfs, and of updates with two trees: names that are exchanged, also across directories, and names
/// that are covered by whiteouts.
fn exchanges(_partition_bytes: u64) -> Vec<Call> {
    let with = |from: &str, to: &str, flags| Call::RenameWith { from: from.to_string(), to: to.to_string(), flags };
    let mut calls = vec![Call::Mkdir { path: "b".to_string(), permissions: 0o700 }];
    calls.extend(safe_file("b/f", "b", 5_000, 1));
    calls.push(fsync_directory("/"));
    for number in 0..20u64 {
        calls.extend(safe_file("next", "/", 700 + 100 * number as usize, 10 + number));
        calls.push(with("next", "b/f", RenameFlags::EXCHANGE));
        calls.push(with("old.d", "b", RenameFlags::EXCHANGE));
        calls.push(with("old1", "old2", RenameFlags::EXCHANGE));
        if number % 3 == 0 {
            calls.push(fsync_directory("/"));
        }
        // A directory and a file exchange their names, and back.
        calls.push(with("old.d/f", "b", RenameFlags::EXCHANGE));
        calls.push(with("old.d/f", "b", RenameFlags::EXCHANGE));
        calls.push(with("old.d", "b", RenameFlags::EXCHANGE));
        if number % 4 == 0 {
            calls.push(Call::Sync);
        }
        let covered = format!("covered{number}");
        calls.push(with("old3", &covered, RenameFlags::WHITEOUT));
        if number % 2 == 0 {
            calls.push(fsync_directory("/"));
        }
        // The whiteout is replaced and deleted.
        calls.push(with(&covered, "old3", RenameFlags::NONE));
        calls.push(with("old4", &covered, RenameFlags::WHITEOUT));
        calls.push(with(&covered, "old4", RenameFlags::EXCHANGE));
        calls.push(Call::Unlink { path: covered });
    }
    calls
}

/// The calls of a careful program: a file gets its name only when it is complete. Other files never get a name.
fn unnamed_files(_partition_bytes: u64) -> Vec<Call> {
    let mut random = Random(9);
    let mut calls = Vec::new();
    for number in 0..24u64 {
        let directory = ["/", "old.d"][number as usize % 2];
        let path = format!("{directory}/done{number}").replace("//", "");
        calls.push(Call::OpenUnnamed { slot: 0, path: directory.to_string(), exclusive: number % 5 == 4 });
        calls.push(write(0, 1 + random.below(9_000) as usize, number));
        if number % 3 == 1 {
            // A commit writes the orphan to flash.
            calls.push(Call::Sync);
        }
        calls.push(write(0, 1 + random.below(3_000) as usize, 50 + number));
        if number % 5 != 4 {
            if number % 2 == 0 {
                calls.push(Call::Fsync { slot: 0 });
            }
            calls.push(Call::LinkSlot { slot: 0, to: path.clone() });
            calls.push(Call::Fsync { slot: 0 });
            calls.push(fsync_directory(directory));
            if number % 4 == 3 {
                calls.push(Call::Unlink { path });
                calls.push(write(0, 2_000, 90 + number));
            }
        }
        calls.push(Call::Close { slot: 0 });
    }
    calls
}
