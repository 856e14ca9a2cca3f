//! Extended attributes of UBIFS: its limits, what a host counts, what becomes of them when the host goes.

use crate::support;

use ffslab_flash::{Chip, Geometry, Torn};
use ffslab_fs::{Errno, XattrMode};
use ffslab_linux::{Calls, OpenFlags};
use ffslab_ubifs::Options;
use support::{Bench, Files};

const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 64 };

fn bench() -> Bench {
    let mut bench = Bench::new(GEOMETRY, 4 << 20, Options::default());
    bench.mount().unwrap();
    let fd = bench.open_new("f");
    bench.vfs.close(fd).unwrap();
    bench
}

trait Attributes {
    fn set(&mut self, path: &str, name: &str, value: &[u8]) -> Result<(), Errno>;
    fn get(&mut self, path: &str, name: &str) -> Result<Vec<u8>, Errno>;
    fn crash_and_check(&mut self);
}

impl Attributes for Bench {
    fn set(&mut self, path: &str, name: &str, value: &[u8]) -> Result<(), Errno> {
        Ok(self.vfs.setxattr(path.as_bytes(), name.as_bytes(), value, XattrMode::Any)?)
    }

    fn get(&mut self, path: &str, name: &str) -> Result<Vec<u8>, Errno> {
        Ok(self.vfs.getxattr(path.as_bytes(), name.as_bytes())?)
    }

    fn crash_and_check(&mut self) {
        self.vfs.crash();
        self.nand.with_chip(Chip::power_on);
        self.nand.restart();
        self.file_system().unwrap().check().unwrap();
        self.mount().unwrap();
    }
}

#[test]
fn names_and_values_have_limits() {
    let mut bench = bench();
    let name = |bytes: usize| format!("user.{}", "n".repeat(bytes - 5));
    assert_eq!(bench.set("f", &name(255), b"long"), Ok(()));
    assert_eq!(bench.set("f", &name(256), b"too long"), Err(Errno::Range));
    assert_eq!(bench.set("f", "", b"no name"), Err(Errno::Range));
    assert_eq!(bench.set("f", "user.", b"no name in it"), Err(Errno::Inval));
    assert_eq!(bench.set("f", "system.posix_acl_access", b"not kept"), Err(Errno::NotSup));
    assert_eq!(bench.set("f", "user.v", &[7; 4096]), Ok(()));
    assert_eq!(bench.set("f", "user.v", &[8; 4097]), Err(Errno::Range));
    assert_eq!(bench.set("f", "user.v", &[8; (64 << 10) + 1]), Err(Errno::TooBig));
    assert_eq!(bench.get("f", "user.v"), Ok(vec![7; 4096]));
    assert_eq!(bench.set("f", "user.empty", b""), Ok(()));
    assert_eq!(bench.get("f", "user.empty"), Ok(Vec::new()));
    assert_eq!(bench.get("f", "user.none"), Err(Errno::NoData));
    assert_eq!(bench.get("none", "user.none"), Err(Errno::NoEnt));
}

#[test]
fn half_a_leb_of_inodes_is_the_most_and_removing_makes_room() {
    let mut bench = bench();
    // UBI's headers share the first page of an erase block: 30720 / 2 / 160 = 96.
    for i in 0..96 {
        bench.set("f", &format!("user.{i}"), b"x").unwrap();
    }
    assert_eq!(bench.set("f", "user.one too many", b"x"), Err(Errno::NoSpc));
    bench.vfs.removexattr(b"f", b"user.40").unwrap();
    assert_eq!(bench.set("f", "user.fits again", b"x"), Ok(()));
    assert_eq!(bench.vfs.listxattr(b"f").unwrap().len(), 96);
    bench.vfs.umount().unwrap();
    bench.file_system().unwrap().check().unwrap();
}

#[test]
fn descriptors_and_links_reach_the_same_attributes() {
    let mut bench = bench();
    bench.vfs.symlink(b"f", b"link").unwrap();
    bench.vfs.link(b"f", b"other").unwrap();
    bench.set("link", "user.a", b"through the link").unwrap();
    let fd = bench.vfs.open(b"other", OpenFlags::READ, 0).unwrap();
    assert_eq!(bench.vfs.fgetxattr(fd, b"user.a").unwrap(), b"through the link");
    bench.vfs.fsetxattr(fd, b"user.b", b"b", XattrMode::Create).unwrap();
    assert_eq!(bench.vfs.fsetxattr(fd, b"user.b", b"b", XattrMode::Create), Err(Errno::Exist));
    assert_eq!(bench.vfs.fsetxattr(fd, b"user.c", b"c", XattrMode::Replace), Err(Errno::NoData));
    bench.vfs.fremovexattr(fd, b"user.a").unwrap();
    assert_eq!(bench.vfs.flistxattr(fd).unwrap(), [b"user.b"]);
    // The link itself may have others, but none of users'.
    assert_eq!(bench.vfs.lsetxattr(b"link", b"user.a", b"a", XattrMode::Any), Err(Errno::Perm.into()));
    assert_eq!(bench.vfs.lgetxattr(b"link", b"user.a"), Err(Errno::NoData.into()));
    bench.vfs.lsetxattr(b"link", b"trusted.t", b"t", XattrMode::Any).unwrap();
    assert_eq!(bench.vfs.llistxattr(b"link").unwrap(), [b"trusted.t"]);
    bench.vfs.lremovexattr(b"link", b"trusted.t").unwrap();
    assert_eq!(bench.vfs.readlink(b"link").unwrap(), b"f");
}

#[test]
fn nothing_is_left_of_a_deleted_file_and_its_attributes() {
    let mut bench = bench();
    bench.vfs.sync().unwrap();
    let file_system = bench.vfs.statfs().unwrap();
    for i in 0..30 {
        bench.set("f", &format!("trusted.{i}"), &[i; 2000]).unwrap();
    }
    bench.vfs.sync().unwrap();
    assert!(bench.vfs.statfs().unwrap().blocks_free < file_system.blocks_free - 5);
    // A commit writes the orphans while the file is open.
    let fd = bench.vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    bench.vfs.unlink(b"f").unwrap();
    bench.vfs.sync().unwrap();
    bench.vfs.close(fd).unwrap();
    bench.vfs.sync().unwrap();
    assert!(bench.vfs.statfs().unwrap().blocks_free >= file_system.blocks_free - 1);
    bench.vfs.umount().unwrap();
    // Root, and nothing else.
    assert_eq!(bench.file_system().unwrap().check().unwrap(), 1);
}

#[test]
fn a_write_of_attributes_is_whole_or_not_there() {
    for cut in 1..40 {
        let mut bench = bench();
        bench.set("f", "user.a", &[1; 1500]).unwrap();
        bench.vfs.sync().unwrap();
        bench.nand.with_chip(|chip| chip.cut_power_after(cut, Torn::Partial { seed: cut }));
        for i in 2..30u8 {
            // The power goes away somewhere in here.
            let _ = bench.set("f", "user.a", &[i; 1500]);
            let _ = bench.set("f", "user.b", &[i; 40]);
        }
        bench.crash_and_check();
        let value = bench.get("f", "user.a").unwrap();
        assert!(value.len() == 1500 && value.iter().all(|byte| *byte == value[0]), "cut {cut}");
        let names = bench.vfs.listxattr(b"f").unwrap().len();
        assert!((1..=2).contains(&names), "cut {cut}: {names} attributes");
    }
}
