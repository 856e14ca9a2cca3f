//! The cost of a request: the number of flash operations must not grow with the size of the file or the number of
//! files.

use crate::content::{pattern, Random};
use crate::rig::{Machine, Rig};
use crate::{Failure, Subject};
use ffslab_linux::OpenFlags;
use ffslab_system::{Answer, Calls};

/// Mean flash operations per request, over [`REQUESTS`] requests: first with a small file or few files, then with a
/// large file or many files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub request: &'static str,
    pub small: f64,
    pub large: f64,
}

/// How many requests of each kind are made; the result is their mean.
pub const REQUESTS: u64 = 48;

/// How much more a request may cost in the large case. Neighbouring pages that happen to be cached or read together
/// make a small difference; a cost that grows makes a factor.
const FACTOR_MAX: f64 = 1.5;
const SURPLUS_MAX: f64 = 2.0;

/// Measures reads, overwrites, appends (each in a file of 1/80 and of 1/4 of the partition), and making, finding and
/// deleting files (among 10 and among 300).
///
/// # Errors
/// The requests that cost more when files are large or many.
pub fn check(subject: &dyn Subject) -> Result<Vec<Cost>, Failure> {
    let mut costs = Vec::new();
    let kinds: [(&'static str, Request); 3] = [
        ("random read of 4 KiB", read),
        ("random overwrite of 4 KiB with fsync", overwrite),
        ("append of 1 KiB with fsync", append),
    ];
    for (request, run) in kinds {
        let small = with_file(subject, 80, run).map_err(|failure| failure.at(request))?;
        let large = with_file(subject, 4, run).map_err(|failure| failure.at(request))?;
        costs.push(Cost { request, small, large });
    }
    let kinds: [(&'static str, ManyRequest); 2] =
        [("make and delete a small file", make_and_delete), ("stat of a cached name", stat)];
    for (request, run) in kinds {
        let small = with_many(subject, 10, run).map_err(|failure| failure.at(request))?;
        let large = with_many(subject, 300, run).map_err(|failure| failure.at(request))?;
        costs.push(Cost { request, small, large });
    }
    let grown = costs.iter().find(|cost| cost.large > cost.small * FACTOR_MAX + SURPLUS_MAX);
    match grown {
        Some(Cost { request, small, large }) => Err(Failure::new(format!(
            "{}: \"{request}\" costs {small:.1} flash operations with a small or few files, {large:.1} with a large or many",
            subject.name()
        ))),
        None => Ok(costs),
    }
}

type Request = fn(&mut Rig, ffslab_linux::Fd, u64, &mut Random) -> Answer<()>;
type ManyRequest = fn(&mut Rig, u64, u64) -> Answer<()>;

/// Mean cost on a file that takes 1/`share` of the partition.
fn with_file(subject: &dyn Subject, share: u64, run: Request) -> Result<f64, Failure> {
    let mut rig = Rig::new(subject, Machine::TINY)?;
    rig.mount()?;
    let bytes = rig.mtd.size_bytes() / share / 4096 * 4096;
    rig.write_file(b"f", &pattern(1, 0, bytes as usize), true).map_err(Failure::of)?;
    settle(&mut rig)?;
    let fd = rig.vfs.open(b"f", OpenFlags::READ_WRITE, 0).map_err(Failure::of)?;
    let mut random = Random(9);
    // The first request may include a cost that the file has only once.
    run(&mut rig, fd, bytes, &mut random).map_err(Failure::of)?;
    let before = rig.operations();
    for _ in 0..REQUESTS {
        run(&mut rig, fd, bytes, &mut random).map_err(Failure::of)?;
    }
    Ok((rig.operations() - before) as f64 / REQUESTS as f64)
}

/// Mean cost with `count` small files in one directory.
fn with_many(subject: &dyn Subject, count: u64, run: ManyRequest) -> Result<f64, Failure> {
    let mut rig = Rig::new(subject, Machine::USUAL)?;
    rig.mount()?;
    rig.vfs.mkdir(b"d", 0o755).map_err(Failure::of)?;
    for number in 0..count {
        let path = format!("d/f{number:04}");
        rig.write_file(path.as_bytes(), &pattern(number, 0, 200), false).map_err(Failure::of)?;
    }
    settle(&mut rig)?;
    run(&mut rig, 0, count).map_err(Failure::of)?;
    let before = rig.operations();
    for number in 1..=REQUESTS {
        run(&mut rig, number, count).map_err(Failure::of)?;
    }
    Ok((rig.operations() - before) as f64 / REQUESTS as f64)
}

fn settle(rig: &mut Rig) -> Result<(), Failure> {
    rig.vfs.sync().map_err(Failure::of)?;
    rig.vfs.sleep_ns(60_000_000_000);
    Ok(())
}

fn read(rig: &mut Rig, fd: ffslab_linux::Fd, bytes: u64, random: &mut Random) -> Answer<()> {
    // Without this a small file would come from the page cache. The inode stays in memory, because the file is open.
    rig.vfs.drop_caches()?;
    let mut buffer = [0; 4096];
    rig.vfs.pread(fd, &mut buffer, random.below(bytes / 4096) * 4096).map(|_| ())
}

fn overwrite(rig: &mut Rig, fd: ffslab_linux::Fd, bytes: u64, random: &mut Random) -> Answer<()> {
    rig.vfs.pwrite(fd, &pattern(2, 0, 4096), random.below(bytes / 4096) * 4096)?;
    rig.vfs.fsync(fd)
}

fn append(rig: &mut Rig, fd: ffslab_linux::Fd, _bytes: u64, _random: &mut Random) -> Answer<()> {
    let end = rig.vfs.fstat(fd)?.size_bytes;
    rig.vfs.pwrite(fd, &pattern(3, 0, 1024), end)?;
    rig.vfs.fsync(fd)
}

fn make_and_delete(rig: &mut Rig, number: u64, _count: u64) -> Answer<()> {
    let path = format!("d/new{number}");
    rig.write_file(path.as_bytes(), &pattern(4, 0, 200), false)?;
    rig.vfs.unlink(path.as_bytes())
}

fn stat(rig: &mut Rig, number: u64, count: u64) -> Answer<()> {
    rig.vfs.stat(format!("d/f{:04}", number * 7 % count).as_bytes()).map(|_| ())
}
