//! The power goes away during each program and erase of a workload: what littlefs promises holds.
//!
//! Its promise is stronger than that of fsync(2): each call that changes names, and each sync or close of a file, happens as a
//! whole or not at all, in the order of the calls. A file that an open makes is empty until its first sync. One thing is less than
//! that: while a rename between directories waits for its end, which the first write after the mount brings, the list of the
//! directory that the name leaves lacks the name behind it (`lfs_dir_getslice` counts them as if the name were gone already).

use crate::support;

use ffslab_bare::paths::PathProgram;
use ffslab_conformance::on::{Kind, SPI_NAND, SPI_NOR};
use ffslab_flash::Torn;
use ffslab_littlefs::Config;
use ffslab_system::{Answer, Calls, OpenFlags, System};
use std::collections::BTreeMap;
use support::{medium, program_on};

/// What stands where; `None`: a directory.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

#[derive(Clone, Copy, Debug)]
enum Change {
    Mkdir(&'static str),
    /// A file of so many bytes, new or in place of an older one.
    Put(&'static str, usize),
    Append(&'static str, usize),
    /// Bytes in the middle, then a sync, then bytes at the end, then a close.
    Amend(&'static str, usize),
    Rename(&'static str, &'static str),
    Remove(&'static str),
}

fn bytes(seed: usize, count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 31 + seed * 7 + at / 251) as u8).collect()
}

fn workload() -> Vec<Change> {
    let mut changes = vec![Change::Mkdir("/d"), Change::Put("/config", 100), Change::Put("/d/log", 3_000)];
    for round in 0..6 {
        changes.push(Change::Append("/d/log", 700 + round * 90));
        // A new version beside the old one, and in its place.
        changes.push(Change::Put("/config.new", 120 + round));
        changes.push(Change::Rename("/config.new", "/config"));
        changes.push(Change::Amend("/d/log", 1_000 + round * 10));
        changes.push(Change::Mkdir("/d/e"));
        changes.push(Change::Put("/d/e/x", 9_000));
        changes.push(Change::Rename("/d/e", "/f"));
        changes.push(Change::Remove("/f/x"));
        changes.push(Change::Remove("/f"));
    }
    changes
}

/// The states that may be found while a change goes on, the last one when it is done.
fn states(before: &Tree, change: Change, seed: usize) -> Vec<Tree> {
    let mut after = before.clone();
    let mut states = vec![before.clone()];
    let file = |tree: &Tree, path: &str| tree.get(path).cloned().flatten().unwrap_or_default();
    match change {
        Change::Mkdir(path) => drop(after.insert(path.to_string(), None)),
        Change::Put(path, count) => {
            if !before.contains_key(path) {
                after.insert(path.to_string(), Some(Vec::new()));
                states.push(after.clone());
            }
            after.insert(path.to_string(), Some(bytes(seed, count)));
        }
        Change::Append(path, count) => {
            let data = [file(before, path), bytes(seed, count)].concat();
            after.insert(path.to_string(), Some(data));
        }
        Change::Amend(path, at) => {
            let mut data = file(before, path);
            data[at..at + 50].copy_from_slice(&bytes(seed, 50));
            after.insert(path.to_string(), Some(data.clone()));
            states.push(after.clone());
            data.extend_from_slice(&bytes(seed, 20));
            after.insert(path.to_string(), Some(data));
        }
        Change::Rename(from, to) => {
            let moved: Vec<String> =
                after.keys().filter(|path| path.starts_with(&format!("{from}/"))).cloned().collect();
            for path in moved.into_iter().chain([from.to_string()]) {
                let what = after.remove(&path).expect("it is there");
                after.insert(path.replacen(from, to, 1), what);
            }
        }
        Change::Remove(path) => drop(after.remove(path)),
    }
    states.push(after);
    states
}

fn make(program: &mut PathProgram, change: Change, seed: usize) -> Answer<()> {
    let put = |program: &mut PathProgram, path: &str, truncate: bool, data: &[u8]| {
        let flags = OpenFlags { create: true, truncate, append: !truncate, ..OpenFlags::READ_WRITE };
        let fd = program.open(path.as_bytes(), flags, 0o644)?;
        let written = program.write(fd, data);
        let closed = program.close(fd);
        written.and(closed)
    };
    match change {
        Change::Mkdir(path) => program.mkdir(path.as_bytes(), 0o755),
        Change::Put(path, count) => put(program, path, true, &bytes(seed, count)),
        Change::Append(path, count) => put(program, path, false, &bytes(seed, count)),
        Change::Amend(path, at) => {
            let fd = program.open(path.as_bytes(), OpenFlags::READ_WRITE, 0)?;
            let amended = program.pwrite(fd, &bytes(seed, 50), at as u64).and_then(|_| program.fsync(fd));
            let end = program.fstat(fd).map(|stat| stat.size_bytes);
            let extended = amended.and_then(|()| program.pwrite(fd, &bytes(seed, 20), end?).map(drop));
            extended.and(program.close(fd))
        }
        Change::Rename(from, to) => program.rename(from.as_bytes(), to.as_bytes()),
        Change::Remove(path) => program.unlink(path.as_bytes()),
    }
}

fn tree(program: &mut PathProgram) -> Tree {
    let mut tree = Tree::new();
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        for entry in program.readdir_path(directory.as_bytes()).unwrap() {
            let path = format!("{directory}/{}", String::from_utf8(entry.name).unwrap());
            let stat = program.stat(path.as_bytes()).unwrap();
            if stat.kind == ffslab_fs::FileKind::Directory {
                pending.push(path.clone());
                tree.insert(path, None);
                continue;
            }
            let fd = program.open(path.as_bytes(), OpenFlags::READ, 0).unwrap();
            let mut data = vec![0; stat.size_bytes as usize];
            assert_eq!(program.pread(fd, &mut data, 0).unwrap(), data.len());
            program.close(fd).unwrap();
            tree.insert(path, Some(data));
        }
    }
    tree
}

/// The workload until the power is cut; the states that may be found then. `None`: it came to its end.
fn run(program: &mut PathProgram) -> Option<Vec<Tree>> {
    let mut now = Tree::new();
    for (seed, &change) in workload().iter().enumerate() {
        let states = states(&now, change, seed);
        let made = make(program, change, seed);
        if !program.is_powered() {
            return Some(states);
        }
        made.unwrap_or_else(|refusal| panic!("{change:?}: {refusal}"));
        now = states.last().cloned().expect("there is the state after it");
    }
    assert_eq!(tree(program), now);
    None
}

fn cut_everywhere(kind: Kind, blocks: u32, config: Config, step: usize) {
    let chip = medium(kind, blocks);
    let mut program = program_on(chip.clone(), Some(config));
    program.mount(&[]).unwrap();
    program.umount().unwrap();
    let start = chip.snapshot();
    let before = chip.modifying_operations();
    program.mount(&[]).unwrap();
    assert!(run(&mut program).is_none());
    let operations = chip.modifying_operations() - before;
    let (mut cuts, mut unfinished) = (0, 0);
    for k in (1..=operations).step_by(step) {
        for torn in [Torn::Nothing, Torn::Partial { seed: k }, Torn::Complete] {
            let chip = medium(kind, blocks);
            chip.restore(&start).unwrap();
            let mut program = program_on(chip.clone(), Some(config));
            program.mount(&[]).unwrap();
            chip.cut_power_after(k, torn);
            let states = run(&mut program).unwrap_or_else(|| panic!("no cut at {k} of {operations}"));
            program.crash().unwrap();
            program.mount(&[]).unwrap_or_else(|error| panic!("{}, cut at {k}, {torn:?}: {error}", kind.name));
            let mut found = tree(&mut program);
            if !states.contains(&found) {
                // Of an interrupted rename only the first write after the mount makes an end.
                unfinished += 1;
                program.mkdir(b"/first", 0o755).unwrap();
                program.rmdir(b"/first").unwrap();
                found = tree(&mut program);
            }
            let is_promised = states.contains(&found);
            assert!(is_promised, "{}, cut at {k} of {operations}, {torn:?}: {:?}", kind.name, found.keys());
            go_on(&mut program, found);
            cuts += 1;
        }
    }
    println!("{}: {operations} programs and erases, {cuts} cuts, {unfinished} lists without some names", kind.name);
    assert!(cuts > 100 && unfinished * 10 < cuts, "{cuts}, {unfinished}");
}

/// The file system is used further after a cut.
fn go_on(program: &mut PathProgram, found: Tree) {
    let change = Change::Put("/after", 5_000);
    let expected = states(&found, change, 99).pop();
    make(program, change, 99).unwrap();
    program.umount().unwrap();
    program.mount(&[]).unwrap();
    assert_eq!(Some(tree(program)), expected);
}

#[test]
fn changes_are_whole_or_not_there_on_spi_nor() {
    let usual = Config::usual(medium(SPI_NOR, 16).capabilities());
    // Short logs, so that they are compacted, and soon move.
    cut_everywhere(SPI_NOR, 16, Config { metadata_max_bytes: 2_048, block_cycles: 3, ..usual }, 5);
}

#[test]
fn changes_are_whole_or_not_there_on_spi_nand() {
    let usual = Config::usual(medium(SPI_NAND, 16).capabilities());
    cut_everywhere(SPI_NAND, 16, Config { block_cycles: 3, ..usual }, 2);
}
