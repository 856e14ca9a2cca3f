//! JFFS2 on NOR flash, through the calls of RTEMS.

use ffslab_fs::Errno;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig};
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::jffs2::{Compression, Jffs2, NorFlash};
use ffslab_rtems::libio::{Libio, OpenFlags, Whence};
use ffslab_sim::{Sim, SimConfig};

fn system() -> (Libio, NorFlash) {
    let sim = Sim::new(SimConfig::default());
    let flash = NorFlash::new(sim.clone(), 65_536, 16);
    let cache = Bdbuf::new(sim, BdbufConfig::default()).unwrap();
    let mut libio = Libio::new(cache, Box::new(Imfs::new(ImfsOptions::default())), 16);
    libio.mkdir(b"/mnt", 0o777).unwrap();
    mount(&mut libio, &flash);
    (libio, flash)
}

fn mount(libio: &mut Libio, flash: &NorFlash) {
    let fs = Jffs2::mount(flash.clone(), Compression::Zlib).unwrap();
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
    let before = flash.counts();
    libio.unlink(b"/mnt/f").unwrap();
    let unlink = flash.counts() - before;
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
