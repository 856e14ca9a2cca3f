//! Damaged volumes: they mount or are refused, and whatever is called then ends with a result. No panic, no endless loop.

use crate::system;

use ffslab_rtems::libio::{OpenFlags, Whence};
use ffslab_rtems::Quirks;
use ffslab_workload::SplitMix64;
use system::{Fs, System};

fn filled(fs: Fs) -> Vec<u8> {
    let mut system = System::new(fs, Quirks::Fixed, 1 << 20);
    system.libio.mkdir(b"/mnt/d", 0o755).unwrap();
    for i in 0..12 {
        let data = vec![i as u8; i * 3000];
        system.write_file(&format!("/mnt/d/file {i}"), &data).unwrap();
        system.write_file(&format!("/mnt/f{i}"), &data[..i * 100]).unwrap();
    }
    if matches!(fs, Fs::Rfs(_)) {
        system.libio.symlink(b"a/long/symbolic/link/that/needs/a/block", b"/mnt/link").unwrap();
    }
    system.into_image()
}

/// Calls of every kind; errors are fine.
fn use_it(system: &mut System) {
    let libio = &mut system.libio;
    let mut buffer = [0; 3000];
    for folder in [&b"/mnt"[..], b"/mnt/d"] {
        if let Ok(fd) = libio.open(folder, OpenFlags::READ, 0) {
            for _ in 0..200 {
                if !matches!(libio.read_dir(fd), Ok(Some(_))) {
                    break;
                }
            }
            let _ = libio.close(fd);
        }
    }
    let _ = libio.statvfs(b"/mnt");
    let _ = libio.readlink(b"/mnt/link");
    for i in [3, 7, 11] {
        let path = format!("/mnt/d/file {i}");
        if let Ok(fd) = libio.open(path.as_bytes(), OpenFlags::READ_WRITE, 0) {
            for offset in [0, 9_000, 20_000] {
                let _ = libio.lseek(fd, offset, Whence::Set);
                let _ = libio.read(fd, &mut buffer);
            }
            let _ = libio.pwrite(fd, &buffer, 25_000);
            let _ = libio.fsync(fd);
            let _ = libio.ftruncate(fd, 1000);
            let _ = libio.ftruncate(fd, 50_000);
            let _ = libio.close(fd);
        }
        let _ = libio.unlink(path.as_bytes());
    }
    let _ = libio.mkdir(b"/mnt/d/new directory", 0o755);
    let _ = libio.stat(b"/mnt/d/../d/../d");
    let _ = libio.rename(b"/mnt/f5", b"/mnt/d/moved");
    if let Ok(fd) = libio.open(b"/mnt/d/fresh", OpenFlags::CREATE, 0o644) {
        let _ = libio.write(fd, &buffer);
        let _ = libio.close(fd);
    }
    let _ = libio.rmdir(b"/mnt/d/new directory");
    let _ = libio.unmount(b"/mnt");
}

fn damage(fs: Fs, runs: u64) {
    let good = filled(fs);
    // Where the metadata are.
    let interesting: Vec<usize> = (0..good.len()).filter(|&at| !matches!(good[at], 0 | 0xff)).collect();
    let mut mounted = 0;
    for run in 0..runs {
        // The same damage in each run of the test.
        let mut random = SplitMix64::new(run);
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let mut image = good.clone();
        for _ in 0..1 + below(12) {
            let at = match below(3) {
                0 => interesting[below(interesting.len())],
                1 => below(8192),
                _ => below(image.len()),
            };
            image[at] = match below(3) {
                0 => below(256) as u8,
                1 => image[at] ^ 1 << below(8),
                _ => [0, 0xff, 0x80, 1][below(4)],
            };
        }
        if below(8) == 0 {
            image.truncate(below(good.len() / 512).max(1) * 512);
        }
        let quirks = [Quirks::Rtems2018, Quirks::Fixed][below(2)];
        let mut system = System::with_image(fs, quirks, image);
        if system.mount().is_ok() {
            mounted += 1;
            use_it(&mut system);
        }
    }
    assert!(mounted > runs / 10, "{mounted} of {runs} images mounted: the damage is too heavy to test anything");
}

#[test]
fn damaged_rfs() {
    damage(Fs::Rfs(512), 1500);
    damage(Fs::Rfs(1024), 200);
}

#[test]
fn damaged_fat() {
    damage(Fs::Dosfs(0), 1500);
    damage(Fs::Dosfs(1), 200);
}

#[test]
fn anything_is_no_file_system() {
    for fs in [Fs::Rfs(512), Fs::Dosfs(0)] {
        for byte in [0, 0xff, 0x5a] {
            let mut system = System::with_image(fs, Quirks::Rtems2018, vec![byte; 1 << 20]);
            assert!(system.mount().is_err());
        }
    }
}
