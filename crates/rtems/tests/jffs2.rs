//! JFFS2 on NOR flash, through the calls of RTEMS.

use ffslab_flash::Torn;
use ffslab_fs::Errno;
use ffslab_mtd::Mtd;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig};
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::jffs2::{Compression, Jffs2, NorFlash};
use ffslab_rtems::libio::{Libio, OpenFlags, Whence};
use ffslab_sim::{Sim, SimConfig};

fn system() -> (Libio, Mtd) {
    let sim = Sim::new(SimConfig::default());
    let flash = Mtd::from(NorFlash::new(sim.clone(), 65_536, 16));
    let cache = Bdbuf::new(sim, BdbufConfig::default()).unwrap();
    let mut libio = Libio::new(cache, Box::new(Imfs::new(ImfsOptions::default())), 16);
    libio.mkdir(b"/mnt", 0o777).unwrap();
    mount(&mut libio, &flash);
    (libio, flash)
}

fn mount(libio: &mut Libio, flash: &Mtd) {
    let fs = Jffs2::mount(flash, Compression::Zlib).unwrap();
    libio.mount(Box::new(fs), b"/mnt", true).unwrap();
}

fn content(libio: &mut Libio, path: &[u8]) -> Vec<u8> {
    let fd = libio.open(path, OpenFlags::READ, 0).unwrap();
    let mut data = vec![0; 20_000];
    let bytes = libio.read(fd, &mut data).unwrap();
    libio.close(fd).unwrap();
    data.truncate(bytes);
    data
}

#[test]
fn what_was_written_is_there_after_a_remount_without_fsync() {
    let (mut libio, flash) = system();
    libio.mkdir(b"/mnt/d", 0o755).unwrap();
    let fd = libio.open(b"/mnt/d/f", OpenFlags::CREATE, 0o644).unwrap();
    libio.write(fd, &[7; 5_000]).unwrap();
    libio.lseek(fd, 9_000, Whence::Set).unwrap();
    libio.write(fd, b"end").unwrap();
    assert_eq!(libio.fsync(fd), Err(Errno::Inval));
    libio.close(fd).unwrap();
    libio.rename(b"/mnt/d/f", b"/mnt/g").unwrap();
    libio.symlink(b"/mnt/g", b"/mnt/l").unwrap();
    libio.unmount(b"/mnt").unwrap();
    mount(&mut libio, &flash);
    let mut expected = vec![7; 5_000];
    expected.resize(9_000, 0);
    expected.extend_from_slice(b"end");
    assert_eq!(content(&mut libio, b"/mnt/l"), expected);
    assert_eq!(libio.open(b"/mnt/d/f", OpenFlags::READ, 0), Err(Errno::NoEnt));
    libio.rmdir(b"/mnt/d").unwrap();
}

/// Deleted names leave no node behind on NOR: their own nodes are marked.
#[test]
fn a_deleted_file_lives_until_it_is_closed_and_stays_deleted() {
    let (mut libio, flash) = system();
    let fd = libio.open(b"/mnt/f", OpenFlags::CREATE, 0o644).unwrap();
    libio.write(fd, b"still here").unwrap();
    let before = flash.traffic();
    libio.unlink(b"/mnt/f").unwrap();
    let unlink = flash.traffic() - before;
    assert_eq!((unlink.programs, unlink.write_bytes), (1, 12));
    libio.lseek(fd, 0, Whence::Set).unwrap();
    let mut data = [0; 10];
    assert_eq!(libio.read(fd, &mut data), Ok(10));
    assert_eq!(&data, b"still here");
    libio.close(fd).unwrap();
    libio.unmount(b"/mnt").unwrap();
    mount(&mut libio, &flash);
    assert_eq!(libio.open(b"/mnt/f", OpenFlags::READ, 0), Err(Errno::NoEnt));
}

/// Cut in the middle of a write or an erase, garbage collection included: what a write had returned for is there, whole and without fsync;
/// nothing else is there but a beginning; and the flash goes on working.
#[test]
fn a_write_that_returned_outlives_a_power_cut() {
    const FILES: usize = 12;
    let data = |round: usize, file: usize| -> Vec<u8> {
        let mut state = (round * 100 + file) as u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..3_000).map(|_| next()).collect()
    };
    let name = |file: usize| format!("/mnt/f{file}").into_bytes();
    let mut cuts = 0;
    for cut in (0..).step_by(13) {
        let (mut libio, flash) = system();
        flash.cut_power_after(cut + 1, Torn::Partial { seed: 0 });
        // Which round of each file had been written, and which was being written.
        let mut safe: [Option<usize>; FILES] = [None; FILES];
        let mut under_way = None;
        'work: for round in 0..40 {
            for (file, safe) in safe.iter_mut().enumerate() {
                under_way = Some((file, round));
                let flags = OpenFlags { truncate: false, ..OpenFlags::CREATE };
                let Ok(fd) = libio.open(&name(file), flags, 0o644) else { break 'work };
                if libio.write(fd, &data(round, file)).is_err() {
                    break 'work;
                }
                *safe = Some(round);
                under_way = None;
                libio.close(fd).unwrap();
            }
        }
        drop(libio);
        if under_way.is_none() {
            assert!(flash.traffic().erases > 16 + 8, "no garbage was collected");
            break;
        }
        cuts += 1;
        flash.restart();
        let mut libio = again(&flash);
        for (file, safe) in safe.iter().enumerate() {
            let there = libio.stat(&name(file)).is_ok().then(|| content(&mut libio, &name(file)));
            let wanted = safe.map(|round| data(round, file));
            let newer = under_way.filter(|&(at, _)| at == file).map(|(_, round)| data(round, file));
            let good = match (&there, &wanted, &newer) {
                (there, wanted, _) if there == wanted => true,
                // One node or two: each is there or not.
                (Some(there), wanted, Some(newer)) => {
                    there.iter().enumerate().all(|(i, byte)| {
                        newer.get(i) == Some(byte) || wanted.as_ref().is_some_and(|wanted| wanted.get(i) == Some(byte))
                    }) && there.len() >= wanted.as_ref().map_or(0, Vec::len)
                }
                _ => false,
            };
            assert!(good, "cut {cut}: file {file}, safe {safe:?}, under way {under_way:?}");
        }
        let fd = libio.open(b"/mnt/new", OpenFlags::CREATE, 0o644).unwrap();
        libio.write(fd, &[9; 4_000]).unwrap();
        libio.close(fd).unwrap();
        assert_eq!(content(&mut libio, b"/mnt/new"), [9; 4_000]);
    }
    assert!(cuts > 100, "{cuts} cuts");
}

/// The flash in a system that has just been started.
fn again(flash: &Mtd) -> Libio {
    let cache = Bdbuf::new(Sim::new(SimConfig::default()), BdbufConfig::default()).unwrap();
    let mut libio = Libio::new(cache, Box::new(Imfs::new(ImfsOptions::default())), 16);
    libio.mkdir(b"/mnt", 0o777).unwrap();
    mount(&mut libio, flash);
    libio
}
