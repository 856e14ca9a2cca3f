//! Chips with a history, as tests for other implementations of the format: a real kernel mounts them and reports what
//! it finds.

use crate::call::{Call, How};
use crate::rig::{Machine, Rig};
use crate::soak::Variant;
use crate::workloads::{self, Workload};
use crate::{power_cuts, sequences, Failure, Subject};
use ffslab_flash::{ImageLayout, Torn};
use ffslab_fs::FileKind;
use std::path::Path;
use std::process::ExitCode;

/// Random system calls of a busy exhibit.
const CALLS: usize = 2_500;

/// Reads `FOLDER [CUTS]` from the command line and fills the folder; CUTS is the number of power cuts of each workload,
/// 1 by default. FOLDER then holds `busy-VARIANT.dump` for each of the variants `busy`, unmounted, and
/// `cut-NUMBER.dump` of chips whose power was cut during an operation. `cut-NUMBER.recovered` is the same chip after a
/// mount; it is missing if the mount was refused. The cuts use the variants `cut` in turn.
pub fn main(busy: &[Variant], cut: &[Variant]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, cuts) = match arguments.as_slice() {
        [folder] => (folder, Ok(1)),
        [folder, cuts] => (folder, cuts.parse()),
        _ => {
            eprintln!("usage: exhibits FOLDER [CUTS]");
            return ExitCode::from(2);
        }
    };
    let Ok(cuts) = cuts else {
        eprintln!("CUTS must be a whole number");
        return ExitCode::from(2);
    };
    match write_all(Path::new(folder), cuts, busy, cut) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn write_all(folder: &Path, cuts: u64, busy: &[Variant], cut: &[Variant]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(Failure::of)?;
    let write = |name: String, dump: Dump| std::fs::write(folder.join(name), dump).map_err(Failure::of);
    for (seed, (name, subject)) in (0..).zip(busy) {
        write(format!("busy-{name}.dump"), self::busy(&**subject, seed, CALLS)?)?;
    }
    let mut number = 0;
    let is_known = |workload: &&Workload| cut.iter().all(|(_, subject)| subject.features().include(workload.needs));
    for workload in workloads::ALL.iter().filter(is_known) {
        for _ in 0..cuts {
            // The cuts are spread over the workload's programs and erases.
            let percent = 5 + number * 37 % 90;
            let torn = [Torn::Partial { seed: number }, Torn::Nothing, Torn::Complete][number as usize % 3];
            let (name, subject) = &cut[number as usize % cut.len()];
            let shown = self::cut(&**subject, workload.name, percent, torn)
                .map_err(|failure| failure.at(format!("cut {number}, {name}, {}, {percent} %", workload.name)))?;
            write(format!("cut-{number:03}.dump"), shown.at_cut)?;
            if let Some(recovered) = shown.recovered {
                write(format!("cut-{number:03}.recovered"), recovered)?;
            }
            println!("cut-{number:03}: {name}, {}, {percent} %, {torn:?}", workload.name);
            number += 1;
        }
    }
    Ok(())
}

/// Page data and OOB of a whole chip in alternation, with the ECC bytes of a kernel with software ECC.
pub type Dump = Vec<u8>;

/// A file system that lost its power.
#[derive(Clone, Debug)]
pub struct Cut {
    pub at_cut: Dump,
    /// The chip after it was mounted and unmounted again; `None`: nothing was durable yet, and the mount was refused.
    pub recovered: Option<Dump>,
}

/// A chip after many different system calls, `count` of them random, and with files at the limits of the format,
/// unmounted.
///
/// # Errors
/// The first difference from the model.
pub fn busy(subject: &dyn Subject, seed: u64, count: usize) -> Result<Dump, Failure> {
    let mut calls = odd_files();
    // Power cuts are left out, because they leave traces on the medium that a kernel reports; see [`cut`].
    calls.extend(sequences::random_calls(seed, count)?.into_iter().filter(|call| *call != Call::SyncAndCrash));
    let mut pair = sequences::play(subject, Machine::USUAL, &calls)?;
    pair.rig.umount().map_err(Failure::of)?;
    dump(&pair.rig)
}

/// A chip after a workload of [`crate::workloads::ALL`] whose power was cut after `percent` of its programs and erases.
///
/// # Errors
/// Durable data are missing after the cut, or data were found that were never written.
pub fn cut(subject: &dyn Subject, workload: &'static str, percent: u64, torn: Torn) -> Result<Cut, Failure> {
    let (mut at_cut, mut recovered) = (Vec::new(), None);
    power_cuts::show(
        subject,
        workload,
        percent,
        torn,
        |rig| dump(rig).map(|dump| at_cut = dump),
        |rig| {
            rig.umount().map_err(Failure::of)?;
            dump(rig).map(|dump| recovered = Some(dump))
        },
    )?;
    Ok(Cut { at_cut, recovered })
}

fn dump(rig: &Rig<'_>) -> Result<Dump, Failure> {
    let mut dump = Vec::new();
    let layout = ImageLayout { oob: true, hamming_ecc: true };
    rig.nand()?.with_chip(|chip| chip.write_image(&mut dump, 0..rig.geometry().blocks, layout)).map_err(Failure::of)?;
    Ok(dump)
}

/// Files with names, numbers and times at their limits, and more files than the random calls make.
fn odd_files() -> Vec<Call> {
    let mut calls = Vec::new();
    let file = |path: &str, bytes: usize, seed: u64| {
        let how = How { truncate: true, ..How::CREATE };
        [
            Call::Open { slot: 3, path: path.to_string(), how },
            Call::Write { slot: 3, bytes, seed },
            Call::Close { slot: 3 },
        ]
    };
    let mkdir = |path: &str| Call::Mkdir { path: path.to_string(), permissions: 0o755 };
    calls.extend([mkdir("odd"), mkdir("many"), mkdir("many/deleted")]);
    for number in 0..300 {
        calls.extend(file(&format!("many/f{number}"), number * 13 % 5_000, number as u64));
        calls.extend(file(&format!("many/deleted/f{number}"), 300, number as u64));
    }
    for number in (0..300).filter(|number| number % 8 != 0) {
        calls.push(Call::Unlink { path: format!("many/deleted/f{number}") });
    }
    for (number, name) in
        ["n".repeat(254), "\u{e4}\u{65e5}".repeat(50), " '\"\\ $x\u{7f}".to_string()].iter().enumerate()
    {
        calls.extend(file(&format!("odd/{name}"), 100, number as u64));
    }
    for (number, seconds) in [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF].into_iter().enumerate() {
        let path = format!("odd/time{number}");
        calls.extend(file(&path, 5_000, number as u64));
        calls.push(Call::SetModified { path: path.clone(), seconds });
        calls.push(Call::Chown { path: path.clone(), uid: 65_535, gid: number as u32 });
        calls.push(Call::Chmod { path, permissions: [0o7777, 0o4711, 0, 0o2640, 0o1000][number] });
    }
    // Device numbers that fit in 16 bits, and some that do not (include/linux/kdev_t.h: major 300, minor 70000).
    let devices =
        [(FileKind::CharDevice, 0x0501), (FileKind::BlockDevice, 0xFFFF), (FileKind::CharDevice, 0x1111_2C70)];
    for (number, (kind, device)) in devices.into_iter().enumerate() {
        calls.push(Call::Mknod { path: format!("odd/device{number}"), kind, device });
    }
    calls.push(Call::Mknod { path: "odd/fifo".to_string(), kind: FileKind::Fifo, device: 0 });
    calls.push(Call::Mknod { path: "odd/socket".to_string(), kind: FileKind::Socket, device: 0 });
    for number in 0..40 {
        calls.push(Call::Link { from: "odd/time2".to_string(), to: format!("odd/link{number}") });
    }
    calls.push(Call::Symlink { target: "t".repeat(254), path: "odd/long target".to_string() });
    calls
}
