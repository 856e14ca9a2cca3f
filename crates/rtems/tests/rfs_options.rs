//! RFS's mount options change what is asked of the cache, not what is in the files; and what the layout can hold.

use crate::system;

use ffslab_fs::Errno;
use ffslab_rtems::libio::OpenFlags;
use ffslab_rtems::rfs::{MountOptions, Rfs};
use ffslab_rtems::Quirks;
use system::{Fs, System};

/// Cache reads while a file of 100 blocks is appended to, block by block.
fn reads_of_append(options: &str) -> u64 {
    let mut system = System::with_image(Fs::Rfs(512), Quirks::Rtems2018, vec![0; 1 << 20]);
    system.format().unwrap();
    let options = MountOptions::parse(options).unwrap();
    let disk = system.disk;
    let rfs = Rfs::mount(system.libio.cache_mut(), disk, &options).unwrap();
    system.libio.mount(Box::new(rfs), b"/mnt", true).unwrap();
    let fd = system.libio.open(b"/mnt/f", OpenFlags::CREATE, 0o644).unwrap();
    let before = system.libio.cache().counts();
    for i in 0..100u8 {
        assert_eq!(system.libio.write(fd, &[i; 512]), Ok(512));
    }
    let reads = (system.libio.cache().counts() - before).read_calls;
    system.libio.close(fd).unwrap();
    system.libio.unmount(b"/mnt").unwrap();
    system.mount().unwrap();
    let expected: Vec<u8> = (0..100u8).flat_map(|i| [i; 512]).collect();
    assert!(system.read_file("/mnt/f").unwrap() == expected, "{options:?}");
    reads
}

#[test]
fn options_change_the_work_only() {
    let plain = reads_of_append("");
    assert!(plain >= 100, "the bitmap is read for each block");
    assert!(reads_of_append("hold-bitmaps") <= 1);
    assert!(reads_of_append("no-local-cache") >= plain);
    assert_eq!(reads_of_append("max-held-bufs=1"), plain);
    assert!(reads_of_append("hold-bitmaps,max-held-bufs=3") <= 1);
    assert_eq!(MountOptions::parse("hold-bitmap"), Err(Errno::Inval));
}

/// 512 B blocks: 5 in the inode, then up to 640 through tables, then tables of tables; every level, up and down.
#[test]
fn block_maps_of_all_levels() {
    let mut system = System::new(Fs::Rfs(512), Quirks::Fixed, 8 << 20);
    let empty = system.libio.statvfs(b"/mnt").unwrap().free_blocks;
    let content: Vec<u8> = (0..700 * 512u32).map(|i| (i / 512) as u8 ^ i as u8).collect();
    system.write_file("/mnt/f", &content).unwrap();
    system.remount();
    assert!(system.read_file("/mnt/f").unwrap() == content);
    let fd = system.libio.open(b"/mnt/f", OpenFlags::WRITE, 0).unwrap();
    for blocks in [690, 641, 640, 639, 300, 129, 128, 6, 5, 4, 1] {
        system.libio.ftruncate(fd, blocks * 512).unwrap();
        let kept = system.read_file("/mnt/f").unwrap();
        assert!(kept == content[..blocks as usize * 512], "{blocks} blocks");
    }
    system.libio.ftruncate(fd, 0).unwrap();
    system.libio.close(fd).unwrap();
    system.libio.unlink(b"/mnt/f").unwrap();
    // The root directory has a block of its own since its first entry.
    assert!(empty - system.libio.statvfs(b"/mnt").unwrap().free_blocks <= 1, "all blocks came back");
}

#[test]
fn a_full_disk_is_reported_and_can_be_emptied() {
    for fs in [Fs::Rfs(512), Fs::Dosfs(0)] {
        let mut system = System::new(fs, Quirks::Fixed, 1 << 20);
        let mut files = 0;
        let error = loop {
            match system.write_file(&format!("/mnt/f{files}"), &[files as u8; 60_000]) {
                Ok(()) => files += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error, Errno::NoSpc, "{fs:?}");
        assert!(files > 10, "{fs:?}: {files} files");
        for file in 0..files {
            let content = system.read_file(&format!("/mnt/f{file}")).unwrap();
            assert!(content == [file as u8; 60_000], "{fs:?}: file {file}");
        }
        for file in 0..=files {
            system.libio.unlink(format!("/mnt/f{file}").as_bytes()).unwrap();
        }
        system.write_file("/mnt/again", &[1; 600_000]).unwrap();
        system.remount();
        assert!(system.read_file("/mnt/again").unwrap() == [1; 600_000]);
    }
}
