//! Damaged images: the file system must mount them or refuse them with a clear error, and must not exceed its limits.

use crate::content::{pattern, Random};
use crate::memory;
use crate::mutate::{self, Mutation};
use crate::rig::{Machine, Rig};
use crate::tree::{show, walk, WalkLimits};
use crate::workloads;
use crate::{Failure, Subject};
use ffslab_flash::{Geometry, ImageLayout};
use ffslab_fs::{Errno, FileKind};
use ffslab_linux::OpenFlags;
use ffslab_mtd::MediumImage;
use ffslab_system::Calls;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Options {
    /// How many damaged images are used.
    pub images: u32,
    pub seed: u64,
    /// How many flash operations one image may take: a mount, reading everything, some writing, another mount.
    pub operations_max: u64,
    /// Real time without a result, in seconds, after which a file system counts as hanging. This limit finds endless
    /// loops and does not influence any result.
    pub patience_s: u64,
    /// How much the process may grow, in memory used and in memory asked for; see [`memory::Peak`]. Other tests in the
    /// same process count as well.
    pub resident_growth_max_bytes: u64,
    pub virtual_growth_max_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            images: 150,
            seed: 1,
            operations_max: 2_000_000,
            patience_s: 120,
            resident_growth_max_bytes: 256 << 20,
            virtual_growth_max_bytes: 2 << 30,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub mounted: u32,
    pub refused: u32,
    /// Images that mounted and on which a new file could be written and read back.
    pub writable: u32,
    pub operations_most: u64,
}

/// Damages images of real use in `images` different ways and uses each. This is done in a thread of its own, so that an
/// endless loop can be detected; the thread is then left running.
///
/// # Errors
/// The image (by seed and number, with its damage) on which the file system panicked, hung, used too many resources, or
/// failed without a clear message.
pub fn check(subject: Arc<dyn Subject>, options: &Options) -> Result<Report, Failure> {
    let (sender, receiver) = channel();
    let (worker_subject, worker_options) = (subject.clone(), options.clone());
    let worker = std::thread::Builder::new().name(format!("hostile images, {}", subject.name()));
    worker
        .spawn(move || {
            let tell = |message: Message| sender.send(message).is_ok();
            if let Err(failure) = work(&*worker_subject, &worker_options, &tell) {
                tell(Message::Failed(failure));
            }
        })
        .map_err(Failure::of)?;
    let mut report = Report::default();
    let mut current = "the undamaged images".to_string();
    let at = |place: &str, failure: Failure| failure.at(format!("{}, {place}", subject.name()));
    loop {
        match receiver.recv_timeout(Duration::from_secs(options.patience_s)) {
            Ok(Message::Begun(text)) => current = text,
            Ok(Message::Used(used)) => {
                report.mounted += u32::from(used.mounted);
                report.refused += u32::from(!used.mounted);
                report.writable += u32::from(used.writable);
                report.operations_most = report.operations_most.max(used.operations);
            }
            Ok(Message::Failed(failure)) => return Err(at(&current, failure)),
            Err(RecvTimeoutError::Timeout) => {
                let text = format!("hangs: no answer for {} s", options.patience_s);
                return Err(at(&current, Failure::new(text)));
            }
            // The worker has finished.
            Err(RecvTimeoutError::Disconnected) => return Ok(report),
        }
    }
}

enum Message {
    Begun(String),
    Used(Used),
    Failed(Failure),
}

fn work(subject: &dyn Subject, options: &Options, tell: &dyn Fn(Message) -> bool) -> Result<(), Failure> {
    let images = base_images(subject)?;
    let before = memory::peak();
    let mut random = Random(options.seed);
    for number in 0..options.images {
        let mut image = images[random.below(images.len() as u64) as usize].clone();
        let count = 1 + random.below(8) as u32;
        let mutations = mutate::choose(&image, subject.geometry(), &mut random, count);
        for mutation in &mutations {
            mutate::apply(&mut image, subject.geometry(), mutation);
        }
        // In two of three images the check sums are made right again, because damage that check sums find is less
        // dangerous.
        let reseal = random.below(3) != 0;
        if reseal {
            subject.reseal(&mut image);
        }
        tell(Message::Begun(describe(options.seed, number, &mutations, reseal)));
        let used = use_image(subject, &image, options.operations_max)?;
        if let (Some(before), Some(now)) = (before, memory::peak()) {
            let resident = now.resident_bytes.saturating_sub(before.resident_bytes);
            let wanted = now.virtual_bytes.saturating_sub(before.virtual_bytes);
            if resident > options.resident_growth_max_bytes || wanted > options.virtual_growth_max_bytes {
                return Err(Failure::new(format!(
                    "the process grew by {} MiB in memory and {} MiB in address space",
                    resident >> 20,
                    wanted >> 20
                )));
            }
        }
        if !tell(Message::Used(used)) {
            return Ok(());
        }
    }
    Ok(())
}

fn describe(seed: u64, number: u32, mutations: &[Mutation], reseal: bool) -> String {
    let sealed = if reseal { ", checksums made right" } else { "" };
    format!("damaged image {number} of seed {seed} ({mutations:?}{sealed})")
}

/// Undamaged images: after an unmount, after a reset, and of a partition that garbage collection has worked on. Pages
/// with their out-of-band bytes, if the medium has such.
///
/// # Errors
/// The file system fails on an undamaged chip.
pub fn base_images(subject: &dyn Subject) -> Result<Vec<Vec<u8>>, Failure> {
    let mut images = Vec::new();
    for name in ["directories and links", "truncation", "overwrites, nearly full"] {
        let Some(workload) = workloads::ALL.iter().find(|workload| workload.name == name) else { continue };
        let mut rig = Rig::new(subject, Machine::USUAL)?;
        rig.mount()?;
        if let Some(setup) = workload.setup {
            setup(&mut rig)?;
        }
        let calls = (workload.calls)(subject.geometry().size_bytes());
        // The calls end half way: the complete workload deletes so much that little is left to damage.
        for call in &calls[..calls.len() / 2] {
            let outcome = rig.call(call)?;
            outcome.map_err(|error| Failure::new(format!("{name}: {call:?}: {error}")))?;
        }
        if name != "truncation" {
            rig.umount().map_err(Failure::of)?;
        } else {
            rig.power_cycle();
        }
        images.push(dump(&rig)?);
    }
    Ok(images)
}

fn dump(rig: &Rig) -> Result<Vec<u8>, Failure> {
    if let MediumImage::Bytes(bytes) = rig.snapshot() {
        return Ok(bytes);
    }
    let mut image = Vec::new();
    let blocks = 0..rig.geometry().blocks;
    rig.nand()?.with_chip(|chip| chip.write_image(&mut image, blocks, layout())).map_err(Failure::of)?;
    Ok(image)
}

fn layout() -> ImageLayout {
    ImageLayout { oob: true, hamming_ecc: false }
}

/// The result of using an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub mounted: bool,
    pub writable: bool,
    pub operations: u64,
}

/// Mounts an image, reads everything, writes something and mounts again. The fuzz target calls this as well.
///
/// # Errors
/// A panic, too many flash operations, or a refusal without a clear message.
pub fn use_image(subject: &dyn Subject, image: &[u8], operations_max: u64) -> Result<Used, Failure> {
    match catch_unwind(AssertUnwindSafe(|| use_image_unguarded(subject, image, operations_max))) {
        Ok(result) => result,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
            Err(Failure::new(format!("panicked: {}", text.unwrap_or_default())))
        }
    }
}

fn use_image_unguarded(subject: &dyn Subject, image: &[u8], operations_max: u64) -> Result<Used, Failure> {
    let geometry: Geometry = subject.geometry();
    let mut rig = Rig::new(subject, Machine::TINY)?;
    match rig.mtd.nand() {
        Some(nand) => nand.with_chip(|chip| {
            chip.load_bytes("damaged image", image, 0..geometry.blocks, layout()).map(|_| ()).map_err(Failure::of)
        })?,
        None => rig.mtd.restore(&MediumImage::Bytes(image.to_vec())).map_err(Failure::of)?,
    }
    rig.limit_operations(operations_max);
    let mut used = Used::default();
    match rig.mount() {
        Ok(()) => used.mounted = true,
        Err(refusal) => check_refusal(&refusal)?,
    }
    if used.mounted {
        read_everything(&mut rig)?;
        used.writable = write_something(&mut rig)?;
        // The result of unmounting damaged structures does not matter, as long as the call returns.
        let _ = rig.umount();
        rig.power_cycle();
        if let Err(refusal) = rig.mount() {
            check_refusal(&refusal)?;
        }
    }
    used.operations = rig.operations();
    Ok(used)
}

fn check_refusal(refusal: &Failure) -> Result<(), Failure> {
    let text = refusal.to_string();
    let said = text.trim_start_matches("mount:").trim();
    if said.len() < 10 || said.contains('\n') {
        return Err(Failure::new(format!("the refusal to mount is no clear line: {text:?}")));
    }
    Ok(())
}

/// How many bytes of a file are read. A sparse file of 4 GiB is no error, so only its two ends are read.
const READ_BYTES_MAX: usize = 256 << 10;

fn read_everything(rig: &mut Rig) -> Result<(), Failure> {
    // A directory may contain itself because of damage; the walk is limited for this case.
    let limits = WalkLimits { depth_max: 12, entries_max: 2_000 };
    let mut buffer = vec![0; READ_BYTES_MAX];
    let mut misread = None;
    // On a damaged medium it is no failure if a directory cannot be read or the tree is too deep.
    let _ = walk(rig, limits, &mut |rig, path| {
        let Ok(stat) = rig.vfs.lstat(path) else { return Ok(()) };
        // Errors are acceptable results here.
        let _ = rig.xattrs(path);
        match stat.kind {
            FileKind::File => {
                let Ok(fd) = rig.vfs.open(path, OpenFlags { no_follow: true, ..OpenFlags::READ }, 0) else {
                    return Ok(());
                };
                let tail = stat.size_bytes.saturating_sub(40_000);
                for (at, bytes) in [(0, READ_BYTES_MAX), (tail, 50_000)] {
                    if let Ok(count) = rig.vfs.pread(fd, &mut buffer[..bytes], at) {
                        let left = stat.size_bytes.saturating_sub(at);
                        if count as u64 > left {
                            let text = format!("\"{}\": read {count} bytes where {left} are left", show(path));
                            misread = Some(Failure::new(text));
                        }
                    }
                }
                let _ = rig.vfs.close(fd);
            }
            FileKind::Symlink => {
                let _ = rig.vfs.readlink(path);
            }
            _ => {}
        }
        Ok(())
    });
    misread.map_or(Ok(()), Err)
}

/// Changes existing files and makes a new one. Returns `true` when the new file could be written and read back.
fn write_something(rig: &mut Rig) -> Result<bool, Failure> {
    let names: Vec<Vec<u8>> = rig.vfs.readdir_path(b"/").unwrap_or_default().into_iter().map(|e| e.name).collect();
    for (number, name) in names.iter().take(24).enumerate() {
        // Any result of these calls is acceptable, as long as they return.
        match number % 4 {
            0 => drop(rig.vfs.unlink(name)),
            1 => drop(rig.vfs.rename(name, &[&b"renamed-"[..], name].concat())),
            2 => drop(rig.vfs.truncate(name, 1_234)),
            _ => {
                if let Ok(fd) = rig.vfs.open(name, OpenFlags::WRITE, 0) {
                    let _ = rig.vfs.pwrite(fd, &pattern(3, 0, 6_000), 2_500);
                    let _ = rig.vfs.close(fd);
                }
            }
        }
    }
    let data = pattern(4, 0, 9_000);
    let mut writable = false;
    let reprograms_before = rig.sim().total().reprograms;
    if rig.write_file(b"new after damage", &data, true).is_ok() {
        let _ = rig.vfs.drop_caches();
        match rig.read_file(b"new after damage") {
            Ok(found) if found == data => writable = true,
            // A block may be marked as erased and hold damaged data. A file system that trusts the mark, as Linux does
            // where it would have to read the whole medium otherwise, then programs pages a second time.
            Ok(_) if rig.sim().total().reprograms > reprograms_before => {}
            Ok(_) => return Err(Failure::new("a file that was written and fsynced just now reads differently")),
            Err(Errno::PowerCut) => return Err(Failure::new("a power cut was reported, and there was none")),
            // The space to which the file was written may be damaged as well.
            Err(_) => {}
        }
    }
    let _ = rig.vfs.mkdir(b"new directory", 0o755);
    let _ = rig.vfs.sync();
    rig.vfs.sleep_ns(30_000_000_000);
    Ok(writable)
}
