//! Power cuts below a file system that promises nothing: what happens to files that were there before, and were not touched.
//!
//! The power goes away at each program and erase of a workload on other files. Afterwards the volume is mounted, the older files are
//! read, and a new one is written. Nothing may end the process or go on without an end; what is lost is counted.

use ffslab_flash::Torn;
use ffslab_mtd::Mtd;
use ffslab_system::{Answer, OpenFlags, System};

const OLD: [(&str, usize); 4] = [("/a", 300), ("/b", 9_000), ("/d/c", 5_000), ("/d/e", 20)];

/// What cuts did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Programs and erases of the whole workload.
    pub operations: u64,
    pub cuts: u32,
    /// Of these, after how many the volume, or one of the older files, was lost.
    pub losing_cuts: u32,
}

fn bytes(seed: usize, count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 31 + seed * 7 + at / 251) as u8).collect()
}

fn put(program: &mut impl System, path: &str, truncate: bool, data: &[u8]) -> Answer<()> {
    let flags = OpenFlags { create: true, truncate, append: !truncate, ..OpenFlags::READ_WRITE };
    let fd = program.open(path.as_bytes(), flags, 0o644)?;
    let written = program.write(fd, data).and_then(|_| program.fsync(fd));
    written.and(program.close(fd))
}

/// Files of its own, made, appended to, removed and moved.
fn work(program: &mut impl System) -> Answer<()> {
    for round in 0..3 {
        put(program, "/log", false, &bytes(round, 3_000))?;
        put(program, "/d/new", true, &bytes(round, 6_000))?;
        program.rename(b"/d/new", b"/moved")?;
        program.unlink(b"/moved")?;
    }
    program.mkdir(b"/f", 0o755)?;
    put(program, "/f/x", true, &bytes(9, 100))
}

fn get(program: &mut impl System, path: &str, count: usize) -> Answer<Vec<u8>> {
    let fd = program.open(path.as_bytes(), OpenFlags::READ, 0)?;
    let mut data = vec![0; count + 1];
    let read = program.pread(fd, &mut data, 0);
    program.close(fd)?;
    data.truncate(read?);
    Ok(data)
}

/// Cuts the power at each `step`-th program and erase, in turn before, in and after it. `chip` gives a new chip, `program` the file system
/// on it, which a first mount makes.
///
/// # Panics
/// The file system fails while there is power.
pub fn cut_everywhere<S: System>(chip: impl Fn() -> Mtd, program: impl Fn(Mtd) -> S, step: usize) -> Cuts {
    let first = chip();
    let mut before_cuts = program(first.clone());
    must(before_cuts.mount(&[]), "a new chip");
    must(before_cuts.mkdir(b"/d", 0o755), "a directory");
    for (seed, (path, count)) in OLD.iter().enumerate() {
        must(put(&mut before_cuts, path, true, &bytes(seed, *count)), path);
    }
    must(before_cuts.umount(), "the end");
    let (start, before) = (first.snapshot(), first.modifying_operations());
    must(before_cuts.mount(&[]), "the second mount");
    must(work(&mut before_cuts), "the workload");
    let mut cuts = Cuts { operations: first.modifying_operations() - before, ..Cuts::default() };
    for (number, k) in (1..=cuts.operations).step_by(step).enumerate() {
        let chip = chip();
        must(chip.restore(&start), "such a chip");
        let mut program = program(chip.clone());
        must(program.mount(&[]), "what was unmounted");
        chip.cut_power_after(k, [Torn::Nothing, Torn::Partial { seed: k }, Torn::Complete][number % 3]);
        assert!(work(&mut program).is_err(), "the power is cut before the end of the workload");
        must(program.crash(), "the power is back");
        cuts.cuts += 1;
        let is_there = program.mount(&[]).is_ok()
            && OLD.iter().enumerate().all(|(seed, (path, count))| {
                get(&mut program, path, *count).is_ok_and(|found| found == bytes(seed, *count))
            });
        cuts.losing_cuts += u32::from(!is_there);
        if is_there {
            // What is lost of the log or of a directory may refuse this, but must not end the process.
            let _ = put(&mut program, "/after", true, &bytes(99, 5_000));
        }
    }
    cuts
}

fn must<T, E: std::fmt::Debug>(done: Result<T, E>, what: &str) -> T {
    done.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}
