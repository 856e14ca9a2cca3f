//! A full medium, and one whose blocks and pages fail.

use crate::call::{Answer, Call, How};
use crate::content::Random;
use crate::rig::{Machine, Rig};
use crate::sequences::Pair;
use crate::{Failure, Subject};
use ffslab_flash::{Faults, Weak};
use ffslab_fs::Errno;
use ffslab_system::Calls;

/// The results of filling a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FullReport {
    pub rounds: u32,
    /// Bytes that were accepted before ENOSPC in the first round, and the fewest in a later round.
    pub first_fill_bytes: u64,
    pub refill_bytes_min: u64,
}

const FILE_BYTES: usize = 40_000;
const ROUNDS: u32 = 5;

/// Fills the partition, deletes half of the files and fills it again, several times. The file system must report
/// ENOSPC, must not lose data, and must be able to use the space of deleted files again.
///
/// # Errors
/// The first step that violates this.
pub fn check(subject: &dyn Subject, machine: Machine) -> Result<FullReport, Failure> {
    fill_rounds(subject, machine).map_err(|failure| failure.at(format!("{}, full medium", subject.name())))
}

fn fill_rounds(subject: &dyn Subject, machine: Machine) -> Result<FullReport, Failure> {
    let mut pair = Pair::new(Rig::new(subject, machine)?)?;
    let statfs = pair.rig.vfs.statfs().map_err(Failure::of)?;
    let promised = statfs.blocks_free * u64::from(statfs.block_bytes);
    let mut report = FullReport { rounds: ROUNDS, refill_bytes_min: u64::MAX, ..FullReport::default() };
    let mut deleted = 0;
    let mut next = 0;
    let mut files: Vec<(String, u64)> = Vec::new();
    for round in 0..ROUNDS {
        let filled = fill(&mut pair, &mut next, &mut files).map_err(|f| f.at(format!("filling, round {round}")))?;
        if round == 0 {
            report.first_fill_bytes = filled;
            if filled < promised / 2 {
                return Err(Failure::new(format!("ENOSPC after {filled} bytes; statfs(2) promised {promised}")));
            }
        } else {
            report.refill_bytes_min = report.refill_bytes_min.min(filled);
            if filled < deleted / 2 {
                return Err(Failure::new(format!("{deleted} bytes were deleted, then only {filled} bytes fitted")));
            }
        }
        overwrite_when_full(&mut pair, &files)?;
        pair.compare().map_err(|failure| failure.at(format!("full, round {round}")))?;
        pair.remount().map_err(|failure| failure.at(format!("full and mounted again, round {round}")))?;
        // Every second file is deleted, which a full file system must be able to do.
        deleted = 0;
        let mut kept = Vec::new();
        for (number, (path, bytes)) in std::mem::take(&mut files).into_iter().enumerate() {
            if (number as u32 + round).is_multiple_of(2) {
                let unlink = Call::Unlink { path: path.clone() };
                let mut outcome = pair.step(&unlink)?;
                if subject.unlink_may_want_time() && outcome == Err(Errno::NoSpc) {
                    pair.step(&Call::Sleep { ms: 30_000 })?.map_err(Failure::of)?;
                    outcome = pair.step(&unlink)?;
                }
                outcome.map_err(|error| Failure::new(format!("unlink(\"{path}\") on a full medium: {error}")))?;
                deleted += bytes;
            } else {
                kept.push((path, bytes));
            }
        }
        files = kept;
        pair.step(&Call::Sync)?.map_err(|error| Failure::new(format!("sync: {error}")))?;
        pair.step(&Call::Sleep { ms: 30_000 })?.map_err(Failure::of)?;
        pair.compare().map_err(|failure| failure.at(format!("after deleting, round {round}")))?;
    }
    Ok(report)
}

/// Returns the bytes that were accepted before ENOSPC.
fn fill(pair: &mut Pair, next: &mut u64, files: &mut Vec<(String, u64)>) -> Result<u64, Failure> {
    let limit = pair.rig.mtd.size_bytes() * 2;
    let mut filled = 0;
    while filled <= limit {
        let (path, seed) = (format!("f{next:05}"), *next);
        *next += 1;
        let opened = pair.step(&Call::Open { slot: 0, path: path.clone(), how: How::CREATE })?;
        if opened == Err(Errno::NoSpc) {
            return Ok(filled);
        }
        opened.map_err(Failure::of)?;
        let mut size = 0;
        let mut full = false;
        while size < FILE_BYTES && !full {
            match pair.step(&Call::Write { slot: 0, bytes: FILE_BYTES - size, seed })? {
                Ok(Answer::Number(count)) if count > 0 => size += count as usize,
                Err(Errno::NoSpc) => full = true,
                other => return Err(Failure::new(format!("write: {}", crate::call::describe(&other)))),
            }
        }
        pair.step(&Call::Close { slot: 0 })?.map_err(Failure::of)?;
        filled += size as u64;
        files.push((path, size as u64));
        if full {
            return Ok(filled);
        }
    }
    Err(Failure::new(format!("{filled} bytes were accepted on a partition of {} bytes", limit / 2)))
}

/// Overwrites files on a full medium. Each write must succeed, or fail with ENOSPC and leave old or new bytes;
/// [`Pair::step`] checks this.
fn overwrite_when_full(pair: &mut Pair, files: &[(String, u64)]) -> Result<(), Failure> {
    for (number, (path, _)) in files.iter().take(6).enumerate() {
        let opened = pair.step(&Call::Open { slot: 1, path: path.clone(), how: How::WRITE })?;
        opened.map_err(Failure::of)?;
        pair.step(&Call::Pwrite { slot: 1, at: 3_000, bytes: 9_000, seed: 5_000 + number as u64 })?.ok();
        pair.step(&Call::Close { slot: 1 })?.map_err(Failure::of)?;
    }
    Ok(())
}

/// Which of the injected faults have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultReport {
    pub bytes_written: u64,
    pub bad_blocks_at_start: u32,
    pub bad_blocks_at_end: u32,
    /// How many of the weak blocks were erased often enough to fail.
    pub weak_blocks_met: u32,
    pub weak_blocks: u32,
    pub remounts: u64,
}

/// Writes several times the size of the partition to a chip with factory bad blocks, blocks whose erase fails after a
/// while, pages whose program fails (some of which then read as noise), and single bit flips in reads. No data may be
/// lost.
///
/// # Errors
/// The first difference; also if no fault has happened, because then nothing was tested.
pub fn check_faults(subject: &dyn Subject, machine: Machine, seed: u64) -> Result<FaultReport, Failure> {
    let place = format!("{}, failing blocks and pages, seed {seed}", subject.name());
    churn_with_faults(subject, machine, seed).map_err(|failure| failure.at(place))
}

fn churn_with_faults(subject: &dyn Subject, machine: Machine, seed: u64) -> Result<FaultReport, Failure> {
    let geometry = subject.geometry();
    let mut random = Random(seed);
    let mut unused: Vec<u32> = (0..geometry.blocks).collect();
    let mut draw = |count: u32| -> Vec<u32> {
        (0..count).map(|_| unused.swap_remove(random.below(unused.len() as u64) as usize)).collect()
    };
    // Each kind of fault is in a twentieth of the blocks, so that the partition stays large enough.
    let share = (geometry.blocks / 20).max(1);
    let (badblocks, erase_fails, program_fails) = (draw(share), draw(share), draw(share));
    let weak = |number, good_operations| Weak { number, good_operations };
    let weakblocks: Vec<Weak> = erase_fails.iter().map(|&block| weak(block, random.below(2) as u32)).collect();
    // The weak pages are in the second half of their blocks. Data that are written again elsewhere must not meet the
    // next weak page at once, because a file system may give up after one new attempt, as Linux's JFFS2 does.
    let half = geometry.pages_per_block / 2;
    let pages = program_fails
        .iter()
        .map(|&block| block * geometry.pages_per_block + half + random.below(u64::from(half)) as u32);
    let pages: Vec<u32> = pages.collect();
    // In nandsim a page holds its data even after a failed program, so a file system that ignores the failure would
    // lose nothing. Here, pages that never accept a program read as noise.
    let weakpages: Vec<Weak> = pages.iter().zip(0..).map(|(&page, number)| weak(page, number % 2)).collect();
    let gravepages = weakpages.iter().filter(|weak| weak.good_operations == 0).copied().collect();
    let weakblocks_of_chip = weakblocks.clone();
    let faults = Faults { badblocks, weakblocks: weakblocks_of_chip, weakpages, gravepages, bitflips: 1, seed };

    let mut rig = Rig::new(subject, machine)?;
    rig.set_faults(&faults)?;
    rig.nand()?.nand().restart();
    let count_bad = |rig: &Rig| {
        (0..geometry.blocks)
            .filter(|&block| rig.mtd.is_bad(u64::from(block) * u64::from(geometry.block_bytes())))
            .count() as u32
    };
    let bad_blocks_at_start = count_bad(&rig);
    let mut pair = Pair::new(rig)?;
    let target = geometry.size_bytes() * 4;
    let mut bytes_written = 0;
    let mut round = 0;
    while bytes_written < target {
        bytes_written +=
            churn(&mut pair, &mut random, round).map_err(|f| f.at(format!("after {bytes_written} bytes")))?;
        round += 1;
    }
    pair.remount().map_err(|failure| failure.at("at the end"))?;
    let erase_counts = pair.rig.nand()?.with_chip(|chip| chip.erase_counts().to_vec());
    // Failing erases are counted as well, so a block with more erases than good ones has failed.
    let met = |weak: &&Weak| erase_counts[weak.number as usize] > weak.good_operations;
    let report = FaultReport {
        bytes_written,
        bad_blocks_at_start,
        bad_blocks_at_end: count_bad(&pair.rig),
        weak_blocks_met: weakblocks.iter().filter(met).count() as u32,
        weak_blocks: weakblocks.len() as u32,
        remounts: pair.report.remounts,
    };
    if report.weak_blocks_met == 0 {
        return Err(Failure::new("no weak block was erased often enough to fail: nothing was checked"));
    }
    Ok(report)
}

/// One round of use: about a third of the partition is in files that are made, changed and deleted.
fn churn(pair: &mut Pair, random: &mut Random, round: u64) -> Result<u64, Failure> {
    let size_bytes = pair.rig.mtd.size_bytes();
    let file_bytes = (size_bytes / 90) as usize;
    let path = format!("f{}", random.below(18));
    let how = if random.below(3) == 0 { How { truncate: true, ..How::CREATE } } else { How::CREATE };
    let mut written = 0;
    let mut steps = vec![Call::Open { slot: 0, path: path.clone(), how }];
    for _ in 0..3 {
        let (at, bytes) = (random.below(file_bytes as u64), 1 + random.below(file_bytes as u64) as usize);
        steps.push(Call::Pwrite { slot: 0, at, bytes, seed: 1_000 + round });
    }
    steps.push(Call::Fsync { slot: 0 });
    steps.push(Call::Close { slot: 0 });
    match random.below(12) {
        0 => steps.push(Call::Unlink { path }),
        1 => steps.push(Call::Sleep { ms: 10_000 }),
        2 => steps.push(Call::DropCaches),
        3 => steps.push(Call::Remount),
        _ => {}
    }
    for step in &steps {
        match pair.step(step).map_err(|failure| failure.at(format!("{step:?}")))? {
            Ok(Answer::Number(count)) => written += count,
            Ok(_) => {}
            Err(error) => return Err(Failure::new(format!("{step:?}: {error}"))),
        }
    }
    Ok(written)
}
