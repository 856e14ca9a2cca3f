use crate::StackTable;
use ffslab_system::{OpenFlags, System};
use std::path::Path;

const WRITE: OpenFlags = OpenFlags { read: true, write: true, create: true, ..OpenFlags::READ };
const FILE_BYTES: usize = 256 << 10;

fn machine(stack: &str) -> Box<dyn System> {
    let table = StackTable::parse(&format!("board = \"omap3evm\"\nkernel = \"2.6.37\"\n{stack}")).unwrap();
    table.machine(Path::new(".")).unwrap().0.build(None).unwrap()
}

fn refused(stack: &str) -> String {
    let table = StackTable::parse(&format!("board = \"omap3evm\"\nkernel = \"2.6.37\"\n{stack}"));
    match table {
        Err(error) => error.message().to_string(),
        Ok(table) => match table.machine(Path::new(".")) {
            Err(error) => error.to_string(),
            Ok((spec, _)) => spec.build(None).err().unwrap().to_string(),
        },
    }
}

fn of_two(root: &str, data: &str, rest: &str) -> String {
    format!(
        "fs = \"{root}\"\npartition_blocks = 60\n{rest}\n[[mount]]\nat = \"/data\"\nfs = \"{data}\"\npartition_blocks = 50\n"
    )
}

/// The bytes of a file after so many rounds of overwrites; each round has other ones.
fn bytes(of: u8, round: u8) -> Vec<u8> {
    (0..FILE_BYTES).map(|i| (i as u8).wrapping_mul(31) ^ of.wrapping_add(round) ^ (i >> 9) as u8).collect()
}

fn overwrite(machine: &mut dyn System, path: &str, content: &[u8]) {
    let fd = machine.open(path.as_bytes(), WRITE, 0o644).unwrap();
    for (part, at) in content.chunks(4096).zip((0..).step_by(4096)) {
        assert_eq!(machine.pwrite(fd, part, at).unwrap(), part.len());
    }
    machine.fsync(fd).unwrap();
    machine.close(fd).unwrap();
}

fn read(machine: &mut dyn System, path: &str) -> Vec<u8> {
    let fd = machine.open(path.as_bytes(), OpenFlags::READ, 0).unwrap();
    let mut content = vec![0; FILE_BYTES + 1];
    let n = machine.pread(fd, &mut content, 0).unwrap();
    machine.close(fd).unwrap();
    content.truncate(n);
    content
}

/// All file systems beside all, with both ways to wait for the chip: each writes until it must collect, the background tasks of both
/// run in between, and a power cut and a new mount leave what was synced.
#[test]
fn each_file_system_works_beside_each() {
    let names = ["jffs2", "yaffs2", "ubifs"];
    for root in names {
        for data in names {
            for wait in ["busy", "sleep"] {
                let mut machine = machine(&of_two(root, data, &format!("nand_wait = \"{wait}\"")));
                let machine = &mut *machine;
                machine.mount(&[]).unwrap();
                for round in 0..40 {
                    overwrite(machine, "/file", &bytes(1, round));
                    overwrite(machine, "data/file", &bytes(2, round));
                    machine.sleep_ns(700_000_000);
                }
                let done = machine.mounts_done();
                assert!(
                    done.iter().all(|mount| mount.erases.iter().sum::<u32>() > 20),
                    "{root} {data} {wait}: {done:?}"
                );
                assert!(done.iter().all(|mount| mount.written_bytes == 40 * FILE_BYTES as u64));
                machine.crash().unwrap();
                machine.mount(&[]).unwrap();
                assert!(read(machine, "file") == bytes(1, 39), "{root} {data} {wait}");
                assert!(read(machine, "/data/file") == bytes(2, 39), "{root} {data} {wait}");
                machine.umount().unwrap();
            }
        }
    }
}

#[test]
fn volumes_share_the_ubi_and_its_blocks() {
    for wait in ["busy", "sleep"] {
        check_volumes(&format!(
            "fs = \"ubifs\"\ncompression = \"none\"\npartition_blocks = 120\nnand_wait = \"{wait}\"\n\
             [[mount]]\nat = \"/data\"\nfs = \"ubifs\"\n\
             compression = \"none\"\nvolume_B = \"4 MiB\"\n[[mount]]\nat = \"/data/log\"\nfs = \"ubifs\"\ncompression = \"none\"\nvolume_B = \"3 MiB\"\n"
        ));
    }
}

fn check_volumes(stack: &str) {
    let mut machine = machine(stack);
    let machine = &mut *machine;
    machine.mount(&[]).unwrap();
    for round in 0..30 {
        overwrite(machine, "file", &bytes(1, round));
        overwrite(machine, "data/file", &bytes(2, round));
        overwrite(machine, "data/log/file", &bytes(3, round));
        machine.sleep_ns(500_000_000);
    }
    let done = machine.mounts_done();
    let places: Vec<&str> = done.iter().map(|mount| &mount.at[..]).collect();
    assert_eq!(places, ["/", "/data", "/data/log"]);
    assert!(done[1].blocks.is_none() && done[1].bytes >= 4 << 20 && done[2].bytes < 4 << 20);
    assert!(done[0].is_shared && done[0].page_programs.unwrap() > 3 * 30 * FILE_BYTES as u64 / 2048);
    machine.crash().unwrap();
    machine.mount(&[]).unwrap();
    for (path, of) in [("file", 1), ("data/file", 2), ("data/log/file", 3)] {
        assert!(read(machine, path) == bytes(of, 29), "{path}");
    }
    assert!(machine.ubi_detach().unwrap_err().to_string().contains("umount it first"));
    machine.umount().unwrap();
    machine.ubi_detach().unwrap();
    machine.mount(&[]).unwrap();
    assert!(read(machine, "data/file") == bytes(2, 29));
}

/// JFFS2's thread collects on one partition while programs are busy on the other one alone.
#[test]
fn background_tasks_of_a_mount_run_in_calls_on_another() {
    let mut machine = machine(&of_two("jffs2", "yaffs2", ""));
    machine.mount(&[]).unwrap();
    let before = machine.mounts_done();
    for round in 0..10 {
        overwrite(&mut *machine, "data/file", &bytes(2, round));
    }
    let erased = machine.mtd().unwrap().formatting_erases()[..60].iter().sum::<u32>();
    // The new partition of the root was made usable meanwhile, though nobody slept.
    assert!(erased > 0, "{erased}");
    assert_eq!(machine.mounts_done()[0].written_bytes, before[0].written_bytes);
}

#[test]
fn paths_lead_to_mounts_and_not_across() {
    let mut machine = machine(&of_two("jffs2", "yaffs2", ""));
    machine.mount(&[]).unwrap();
    overwrite(&mut *machine, "/data/file", &bytes(1, 1));
    overwrite(&mut *machine, "/database", &bytes(2, 1));
    let names = |machine: &mut dyn System, path: &str| -> Vec<String> {
        let entries = machine.readdir_path(path.as_bytes()).unwrap();
        entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect()
    };
    assert!(names(&mut *machine, "/").contains(&"database".to_string()));
    assert!(names(&mut *machine, "/data").contains(&"file".to_string()));
    assert!(machine.rename(b"/database", b"/data/x").unwrap_err().to_string().contains("EXDEV"));
    assert!(machine.link(b"/data/file", b"/x").unwrap_err().to_string().contains("EXDEV"));
    machine.rename(b"/data/file", b"//data//other").unwrap();
    let (root, data) = (machine.statfs_at(b"/").unwrap(), machine.statfs_at(b"data/other").unwrap());
    assert_ne!(root.blocks, data.blocks);
    assert_eq!((machine.medium_bytes_at(b"x"), machine.medium_bytes_at(b"data/x")), (60 << 17, 50 << 17));
    // The lowest free number, whichever mount it is on.
    let one = machine.open(b"/database", OpenFlags::READ, 0).unwrap();
    let two = machine.open(b"/data/other", OpenFlags::READ, 0).unwrap();
    assert_eq!((one.0, two.0), (0, 1));
    machine.close(one).unwrap();
    assert_eq!(machine.open(b"/data/other", OpenFlags::READ, 0).unwrap().0, 0);
    assert!(machine.umount().unwrap_err().to_string().contains("EBUSY"));
    machine.close(two).unwrap();
    machine.close(one).unwrap();
    machine.umount().unwrap();
    machine.mount(&[]).unwrap();
    let root = machine.open(b"/database", OpenFlags::READ, 0).unwrap();
    assert!(machine.umount().unwrap_err().to_string().contains("EBUSY"), "of the root; /data is unmounted by now");
    machine.close(root).unwrap();
    machine.umount().unwrap();
}

#[test]
fn a_kept_state_holds_all_partitions() {
    let table =
        StackTable::parse(&format!("board = \"omap3evm\"\nkernel = \"2.6.37\"\n{}", of_two("ubifs", "jffs2", "")))
            .unwrap();
    let (spec, filled) = table.machine(Path::new(".")).unwrap();
    let mut machine = spec.build(None).unwrap();
    machine.mount(&[]).unwrap();
    overwrite(&mut *machine, "file", &bytes(1, 1));
    overwrite(&mut *machine, "data/file", &bytes(2, 1));
    machine.umount().unwrap();
    let state =
        crate::spec::State { medium: machine.snapshot().unwrap(), at_ns: machine.now_ns(), content_position_bytes: 0 };
    // The filled-in keys describe the same machine.
    let (again, twice) = filled.machine(Path::new(".")).unwrap();
    assert_eq!(filled, twice);
    let mut machine = again.build(Some(&state)).unwrap();
    machine.mount(&[]).unwrap();
    assert!(read(&mut *machine, "file") == bytes(1, 1) && read(&mut *machine, "data/file") == bytes(2, 1));
}

#[test]
fn what_cannot_be_mounted_is_said() {
    let root = "fs = \"jffs2\"\npartition_blocks = 60\n";
    let with = |keys: &str| refused(&format!("{root}[[mount]]\n{keys}"));
    for (keys, says) in [
        ("at = \"data\"\nfs = \"jffs2\"\npartition_blocks = 20", "a directory below / is needed"),
        ("at = \"/\"\nfs = \"jffs2\"\npartition_blocks = 20", "a directory below / is needed"),
        ("at = \"/data\"\nfs = \"jffs2\"", "its size is missing"),
        ("at = \"/data\"\nfs = \"jffs2\"\npartition_blocks = 20\nhz = 100", "hz belongs to the machine"),
        ("at = \"/data\"\nfs = \"ubifs\"\nvolume_B = \"4 MiB\"", "give it a partition of its own"),
        ("at = \"/data\"\nfs = \"jffs2\"\nfirst_block = 59\npartition_blocks = 20", "overlap another partition"),
        ("at = \"/data\"\nfs = \"jffs2\"\npartition_blocks = 200000", "is not on the chip"),
        ("at = \"/data\"\nfs = \"jfss2\"\npartition_blocks = 20", "mount at \"/data\""),
        ("at = \"/data\"\nfs = \"jffs2\"\npartition_blocks = 20\ncompresion = \"zlib\"", "compresion"),
        ("at = \"/data\"\nfs = \"yaffs2\"\npartition_blocks = 20\nsummary = true", "summary belongs to"),
    ] {
        let text = with(keys);
        assert!(text.contains(says) && !text.contains('\n'), "{keys}: {text}");
    }
    let twice = "[[mount]]\nat = \"/data\"\nfs = \"jffs2\"\npartition_blocks = 20\n";
    assert!(with(&format!("{}{twice}", &twice["[[mount]]\n".len()..])).contains("another mount is there already"));
}
