//! YAFFS2 on flash in memory, through the calls of RTEMS.

use ffslab_fs::Errno;
use ffslab_mtd::{ram, Mtd};
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig};
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::libio::{Libio, OpenFlags};
use ffslab_rtems::yaffs2::Yaffs2;
use ffslab_sim::{Sim, SimConfig};

fn system() -> (Libio, Mtd, Sim) {
    let sim = Sim::new(SimConfig::default());
    let flash = ram::flash(&sim, 8 << 20).unwrap();
    let cache = Bdbuf::new(sim.clone(), BdbufConfig::default()).unwrap();
    let mut libio = Libio::new(cache, Box::new(Imfs::new(ImfsOptions::default())), 16);
    libio.mkdir(b"/mnt", 0o777).unwrap();
    libio.mount(Box::new(Yaffs2::mount(&flash).unwrap()), b"/mnt", true).unwrap();
    (libio, flash, sim)
}

fn content(libio: &mut Libio, path: &[u8]) -> Vec<u8> {
    let fd = libio.open(path, OpenFlags::READ, 0).unwrap();
    let mut data = vec![0; 40_000];
    let bytes = libio.read(fd, &mut data).unwrap();
    libio.close(fd).unwrap();
    data.truncate(bytes);
    data
}

fn write(libio: &mut Libio, path: &[u8], data: &[u8]) {
    let fd = libio.open(path, OpenFlags::CREATE, 0o644).unwrap();
    assert_eq!(libio.write(fd, data), Ok(data.len()));
    libio.fsync(fd).unwrap();
    libio.close(fd).unwrap();
}

#[test]
fn what_was_written_is_there_after_a_remount() {
    let (mut libio, flash, _) = system();
    libio.mkdir(b"/mnt/d", 0o755).unwrap();
    let data: Vec<u8> = (0..30_000u32).map(|i| (i % 251) as u8).collect();
    write(&mut libio, b"/mnt/d/f", &data);
    libio.rename(b"/mnt/d/f", b"/mnt/g").unwrap();
    libio.symlink(b"g", b"/mnt/soft").unwrap();
    libio.unmount(b"/mnt").unwrap();
    libio.mount(Box::new(Yaffs2::mount(&flash).unwrap()), b"/mnt", true).unwrap();
    assert_eq!(content(&mut libio, b"/mnt/soft"), data);
    assert_eq!(libio.stat(b"/mnt/d/f"), Err(Errno::NoEnt));
    assert_eq!(libio.stat(b"/mnt/d/.."), libio.stat(b"/mnt"));
    assert_eq!(libio.rmdir(b"/mnt"), Err(Errno::Busy));
}

/// A write of whole chunks programs each once; the header follows at close.
#[test]
fn a_chunk_is_programmed_once() {
    let (mut libio, _, sim) = system();
    let fd = libio.open(b"/mnt/f", OpenFlags::CREATE, 0o644).unwrap();
    let before = sim.total().page_programs;
    for _ in 0..64 {
        libio.write(fd, &[7; 4096]).unwrap();
    }
    libio.close(fd).unwrap();
    let programs = sim.total().page_programs - before;
    assert!((64..=68).contains(&programs), "{programs} programs for 64 chunks and headers");
}

#[test]
fn an_open_file_outlives_its_name_and_its_space_comes_back() {
    let (mut libio, _, _) = system();
    let free = libio.statvfs(b"/mnt").unwrap().free_blocks;
    write(&mut libio, b"/mnt/f", &[5; 20_000]);
    let fd = libio.open(b"/mnt/f", OpenFlags::READ_WRITE, 0).unwrap();
    libio.unlink(b"/mnt/f").unwrap();
    let mut data = [0; 20_000];
    assert_eq!(libio.read(fd, &mut data), Ok(20_000));
    assert_eq!(data, [5; 20_000]);
    assert!(libio.statvfs(b"/mnt").unwrap().free_blocks <= free - 4);
    libio.close(fd).unwrap();
    assert!(libio.statvfs(b"/mnt").unwrap().free_blocks >= free - 1);
}

#[test]
fn a_full_flash_says_so_and_goes_on() {
    let (mut libio, _, _) = system();
    let fd = libio.open(b"/mnt/f", OpenFlags::CREATE, 0o644).unwrap();
    let mut written = 0;
    let error = loop {
        match libio.write(fd, &[1; 65_536]) {
            Ok(bytes) => written += bytes,
            Err(error) => break error,
        }
        assert!(written < 8 << 20);
    };
    assert_eq!(error, Errno::NoSpc);
    libio.close(fd).unwrap();
    libio.unlink(b"/mnt/f").unwrap();
    write(&mut libio, b"/mnt/g", &[2; 30_000]);
    assert_eq!(content(&mut libio, b"/mnt/g"), vec![2; 30_000]);
}
