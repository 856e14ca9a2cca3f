//! Read-only mounts: nothing is written, not even after a power cut, and yet everything is there; a remount read-write
//! then writes what recovery had left.

use crate::subject;
use crate::support;

use ffslab_conformance::{must, power_cuts, Features, Subject};
use ffslab_flash::{Chip, Geometry, Torn};
use ffslab_fs::{Errno, FileKind, FileSystem, NoPageCache, RenameFlags, XattrMode};
use ffslab_linux::{Calls, OpenFlags};
use ffslab_mtd::Mtd;
use ffslab_sim::Sim;
use ffslab_ubifs::causes;
use ffslab_ubifs::{MountError, Options, Ubifs};
use ffslab_workload::SplitMix64;
use std::collections::BTreeMap;
use subject::{attach, UbifsSubject, BAD_RESERVE};
use support::{Bench, Files};

const SMALL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 48 };
const READ_ONLY: Options = Options { read_only: true, ..usual() };

const fn usual() -> Options {
    Options {
        compression: ffslab_ubifs::Compression::None,
        rules: ffslab_ubifs::KernelRules::V6_1,
        lzo: ffslab_ubifs::LzoRelease::Lzo2_06,
        fs_debug: false,
        check_data_crc: false,
        bulk_read: false,
        read_only: false,
        wbuf_delay_ms: 5_000,
        children_count: None,
        journal_bytes: None,
        seed: 1,
    }
}

fn bench(options: Options) -> Bench {
    Bench::new(SMALL, 4 << 20, options)
}

/// Programs and erases that are not those of UBI's own thread, which erases what is left to erase.
fn changes(sim: &Sim) -> u64 {
    let others = sim.total() - sim.causes().of_task(&causes::UBI_THREAD);
    others.page_programs + others.erases
}

/// Every mount is a read-only one that is remounted read-write.
struct Remounted(UbifsSubject);

impl Subject for Remounted {
    fn name(&self) -> &str {
        "ubifs, read-only first"
    }

    fn geometry(&self) -> Geometry {
        self.0.geometry
    }

    fn may_refuse_unfinished_format(&self) -> bool {
        true
    }

    fn features(&self) -> Features {
        self.0.features()
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        let (ubi, volume) = attach(mtd.clone(), BAD_RESERVE)?;
        let before = changes(mtd.sim());
        let mut fs = match Ubifs::mount(&ubi, volume, READ_ONLY, 1_300_000_000) {
            Ok(fs) => fs,
            Err(error) => {
                ubi.detach();
                let mounted = self.0.mount(mtd.clone());
                // There is no file system yet, the power is off, or it is as bad for both.
                let is_empty = error == MountError::Medium(Errno::RoFs);
                let is_dark = error == MountError::Medium(Errno::PowerCut);
                assert!(is_empty || is_dark || mounted.is_err(), "only read-only: {error}");
                return mounted;
            }
        };
        fs.detach_at_end();
        assert_eq!(changes(mtd.sim()), before, "programs and erases of a read-only mount");
        fs.remount(&mut NoPageCache::default(), false).map_err(|error| error.to_string())?;
        Ok(Box::new(fs))
    }
}

#[test]
fn a_remount_after_a_power_cut_completes_what_recovery_began() {
    let subject = Remounted(UbifsSubject {
        policy: "kernel",
        options: Options::default(),
        geometry: SMALL,
        bad_reserve: BAD_RESERVE,
    });
    let options = power_cuts::Options { points_max: 25, ..power_cuts::Options::default() };
    println!("{}", must(power_cuts::check(&subject, &options)));
}

/// Names and contents of all files.
fn files(bench: &mut Bench) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = bench.vfs.readdir_path(b"/").unwrap();
    let read = |entry: ffslab_linux::Entry| {
        let fd = bench.vfs.open(&entry.name, OpenFlags::READ, 0).unwrap();
        let mut data = vec![0; bench.vfs.fstat(fd).unwrap().size_bytes as usize];
        assert_eq!(bench.vfs.pread(fd, &mut data, 0).unwrap(), data.len());
        bench.vfs.close(fd).unwrap();
        (entry.name, data)
    };
    entries.into_iter().map(read).collect()
}

fn power_cycle(bench: &mut Bench) {
    bench.vfs.crash();
    bench.nand.with_chip(Chip::power_on);
    bench.nand.restart();
}

#[test]
fn after_a_power_cut_both_mounts_show_the_same_and_a_remount_keeps_it() {
    let mut runs_with_files = 0;
    for cut in 1..60 {
        let mut bench = bench(Options::default());
        bench.mount().unwrap();
        bench.vfs.sync().unwrap();
        bench.nand.with_chip(|chip| chip.cut_power_after(3 * cut, Torn::Partial { seed: cut }));
        let mut random = SplitMix64::new(cut);
        for i in 0..60 {
            let name = format!("f{}", random.below(10));
            if i % 7 == 6 {
                let _ = bench.vfs.unlink(name.as_bytes());
                continue;
            }
            let flags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };
            let Ok(fd) = bench.vfs.open(name.as_bytes(), flags, 0o644) else { break };
            let _ = bench.vfs.pwrite(fd, &support::content(i, 1 + random.below(9_000) as usize), random.below(20_000));
            let _ = (i % 3 == 0).then(|| bench.vfs.fsync(fd));
            let _ = bench.vfs.close(fd);
        }
        power_cycle(&mut bench);
        let image = bench.nand.with_chip(|chip| chip.snapshot());
        bench.mount().unwrap();
        let expected = files(&mut bench);

        bench.vfs.crash();
        bench.nand.restart();
        bench.nand.with_chip(|chip| chip.restore(&image)).unwrap();
        bench.options = READ_ONLY;
        bench.mount().unwrap();
        let before = changes(&bench.sim);
        assert!(files(&mut bench) == expected, "cut {cut}: another content");
        assert_eq!(changes(&bench.sim), before, "cut {cut}");
        bench.vfs.remount(false).unwrap();
        assert!(files(&mut bench) == expected, "cut {cut}: another content after the remount");
        bench.vfs.umount().unwrap();
        bench.options = Options::default();
        bench.file_system().unwrap().check().unwrap_or_else(|text| panic!("cut {cut}: {text}"));
        bench.mount().unwrap();
        assert!(files(&mut bench) == expected, "cut {cut}: another content after the next mount");
        runs_with_files += u32::from(expected.len() > 3);
    }
    assert!(runs_with_files > 10, "hardly a run got as far as files");
}

#[test]
fn nothing_can_be_changed_until_a_remount() {
    let mut bench = bench(Options::default());
    bench.mount().unwrap();
    let fd = bench.open_new("f");
    bench.vfs.pwrite(fd, b"content", 0).unwrap();
    bench.vfs.setxattr(b"f", b"user.a", b"v", XattrMode::Any).unwrap();
    assert_eq!(bench.vfs.remount(true), Err(Errno::Busy), "open for writing");
    bench.vfs.close(fd).unwrap();
    bench.vfs.remount(true).unwrap();
    let before = changes(&bench.sim);
    for _ in 0..2 {
        let vfs = &mut bench.vfs;
        let create = OpenFlags { create: true, ..OpenFlags::WRITE };
        let unnamed = OpenFlags { unnamed: true, ..OpenFlags::WRITE };
        assert_eq!(vfs.open(b"new", create, 0o644), Err(Errno::RoFs.into()));
        assert_eq!(vfs.open(b"f", OpenFlags::WRITE, 0), Err(Errno::RoFs.into()));
        assert_eq!(vfs.open(b"f", OpenFlags { truncate: true, ..OpenFlags::READ }, 0), Err(Errno::RoFs.into()));
        assert_eq!(vfs.open(b"/", unnamed, 0o644), Err(Errno::RoFs.into()));
        assert_eq!(vfs.open(b"/", create, 0o644), Err(Errno::IsDir.into()));
        assert_eq!(vfs.mkdir(b"d", 0o755), Err(Errno::RoFs.into()));
        assert_eq!(vfs.mkdir(b"f", 0o755), Err(Errno::Exist.into()));
        assert_eq!(vfs.mknod(b"p", FileKind::Fifo, 0o644, 0), Err(Errno::RoFs.into()));
        assert_eq!(vfs.symlink(b"f", b"l"), Err(Errno::RoFs.into()));
        assert_eq!(vfs.link(b"f", b"l"), Err(Errno::RoFs.into()));
        assert_eq!(vfs.unlink(b"f"), Err(Errno::RoFs.into()));
        assert_eq!(vfs.rmdir(b"none"), Err(Errno::RoFs.into()));
        assert_eq!(vfs.rename(b"f", b"g"), Err(Errno::RoFs.into()));
        assert_eq!(vfs.rename_with(b"f", b"g", RenameFlags::WHITEOUT), Err(Errno::RoFs.into()));
        assert_eq!(vfs.truncate(b"f", 1), Err(Errno::RoFs.into()));
        assert_eq!(vfs.chmod(b"f", 0o600), Err(Errno::RoFs.into()));
        assert_eq!(vfs.setxattr(b"f", b"user.a", b"w", XattrMode::Any), Err(Errno::RoFs.into()));
        assert_eq!(vfs.removexattr(b"f", b"user.a"), Err(Errno::RoFs.into()));
        assert_eq!(vfs.getxattr(b"f", b"user.a").unwrap(), b"v");
        let fd = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
        let mut data = [0; 8];
        assert_eq!(vfs.pread(fd, &mut data, 0), Ok(7));
        vfs.fsync(fd).unwrap();
        vfs.close(fd).unwrap();
        vfs.sync().unwrap();
        vfs.sleep_ns(60_000_000_000);
        vfs.umount().unwrap();
        assert_eq!(changes(&bench.sim), before);
        bench.options = READ_ONLY;
        bench.mount().unwrap();
    }
    bench.vfs.remount(false).unwrap();
    bench.vfs.remount(false).unwrap();
    let fd = bench.open_new("new");
    bench.vfs.pwrite(fd, b"content", 0).unwrap();
    bench.vfs.close(fd).unwrap();
    // A file that was deleted while open could still be written by its last close.
    let fd = bench.vfs.open(b"new", OpenFlags::READ, 0).unwrap();
    bench.vfs.unlink(b"new").unwrap();
    assert_eq!(bench.vfs.remount(true), Err(Errno::Busy));
    bench.vfs.close(fd).unwrap();
    bench.vfs.remount(true).unwrap();
    bench.vfs.umount().unwrap();
    bench.options = Options::default();
    bench.file_system().unwrap().check().unwrap();
}

#[test]
fn an_empty_volume_cannot_be_mounted_read_only() {
    let error = bench(READ_ONLY).file_system().err().unwrap();
    assert!(error.contains("EROFS"), "{error}");
}
