//! Extended attributes on flash: what is shared, what garbage collection moves, what a mount finds.

use ffslab_fs::{Errno, FileSystem, XattrMode};

use super::{audit, content, Bench};
use crate::format::{RawXattr, RawXref, TYPE_XATTR, TYPE_XREF, XATTR_BYTES};
use crate::probe::nodes::{walk, Found};
use crate::{Endian, Jffs2, MountError, Options};

fn set(bench: &mut Bench, ino: u32, name: &str, value: &[u8]) {
    bench.fs.setxattr(&mut bench.host, ino, name.as_bytes(), value, XattrMode::Any).unwrap();
}

fn remove(bench: &mut Bench, ino: u32, name: &str) {
    bench.fs.removexattr(&mut bench.host, ino, name.as_bytes()).unwrap();
}

fn get(bench: &mut Bench, ino: u32, name: &str) -> Result<Vec<u8>, Errno> {
    bench.fs.getxattr(ino, name.as_bytes())
}

/// How many nodes of attributes and of references to them are on the medium.
fn nodes(bench: &Bench) -> (usize, usize) {
    let e = bench.options.endian;
    let mut image = vec![0; bench.mtd.size_bytes() as usize];
    bench.mtd.look(0, &mut image).unwrap();
    let (mut data, mut references) = (0, 0);
    for block in image.chunks(bench.mtd.erase_block_bytes() as usize) {
        walk(e, block, &mut |place| {
            if place.found == Found::ExtendedAttribute {
                match e.u16(&block[place.offset as usize..], 2) {
                    TYPE_XATTR => data += 1,
                    TYPE_XREF => references += 1,
                    other => panic!("{other:#06x}"),
                }
            }
        });
    }
    (data, references)
}

#[test]
fn headers_have_the_format_of_the_kernel() {
    for e in [Endian::Little, Endian::Big] {
        let xattr = RawXattr { xid: 7, version: 2, prefix: 5, name_bytes: 3, value_bytes: 300, data_crc: 9 };
        assert_eq!(RawXattr::decode(e, &xattr.encode(e)), Some(xattr));
        assert_eq!(xattr.total_bytes(), XATTR_BYTES + 304);
        let xref = RawXref { ino: 2, xid: 7, sequence: 5 };
        assert_eq!(RawXref::decode(e, &xref.encode(e)), Some(xref));
        let mut damaged = xattr.encode(e);
        damaged[20] ^= 1;
        assert_eq!(RawXattr::decode(e, &damaged), None);
    }
}

#[test]
fn inodes_with_the_same_name_and_value_share_them() {
    let mut bench = Bench::new(12, Options::default());
    for name in ["a", "b", "c"] {
        let ino = bench.create(name).unwrap();
        set(&mut bench, ino, "security.selinux", b"system_u:object_r:etc_t");
    }
    bench.fs.sync(&mut bench.host).unwrap();
    assert_eq!(nodes(&bench), (1, 3));
    bench.unlink("a").unwrap();
    bench.remount(true);
    let ino = bench.fs.lookup(1, b"b").unwrap();
    assert_eq!(get(&mut bench, ino, "security.selinux"), Ok(b"system_u:object_r:etc_t".to_vec()));
    assert_eq!(bench.fs.listxattr(ino), Ok(vec![b"security.selinux".to_vec()]));
}

/// As on a real 6.1: nothing on flash says that the first value was replaced but the second one's reference.
#[test]
fn an_attribute_that_was_replaced_and_removed_comes_back_at_the_next_mount() {
    for options in [Options::default(), Options { summary: true, ..Options::default() }] {
        let mut bench = Bench::new(12, options);
        let ino = bench.create("file").unwrap();
        set(&mut bench, ino, "user.a", b"first");
        set(&mut bench, ino, "user.a", b"second");
        set(&mut bench, ino, "user.b", b"kept");
        bench.remount(true);
        assert_eq!(get(&mut bench, ino, "user.a"), Ok(b"second".to_vec()));
        remove(&mut bench, ino, "user.a");
        assert_eq!(get(&mut bench, ino, "user.a"), Err(Errno::NoData));
        bench.remount(true);
        assert_eq!(get(&mut bench, ino, "user.a"), Ok(b"first".to_vec()));
        assert_eq!(get(&mut bench, ino, "user.b"), Ok(b"kept".to_vec()));
        audit(&bench.fs.store);
    }
}

/// Garbage collection copies what is needed, drops what is not, and a mount from summaries finds the same.
#[test]
fn attributes_survive_while_every_block_is_erased() {
    for options in [Options::default(), Options { summary: true, ..Options::default() }] {
        let mut bench = Bench::new(14, options);
        let keep = bench.create("keep").unwrap();
        for round in 0..6 {
            set(&mut bench, keep, "user.often", &content(round, 900));
            set(&mut bench, keep, &format!("trusted.{round}"), &content(round, 100 * round));
        }
        bench
            .create("gone")
            .and_then(|ino| {
                set(&mut bench, ino, "user.gone", b"x");
                bench.unlink("gone")
            })
            .unwrap();
        remove(&mut bench, keep, "trusted.3");
        for round in 0..1500 {
            bench.write(keep, (round % 8 * 4096) as u64, &content(round, 4096)).unwrap();
        }
        bench.sleep_ms(30_000);
        audit(&bench.fs.store);
        for orderly in [true, false] {
            bench.fs.sync(&mut bench.host).unwrap();
            bench.remount(orderly);
            bench.sleep_ms(30_000);
            audit(&bench.fs.store);
            assert_eq!(get(&mut bench, keep, "user.often"), Ok(content(5, 900)));
            assert_eq!(get(&mut bench, keep, "trusted.3"), Err(Errno::NoData));
            assert_eq!(get(&mut bench, keep, "trusted.5"), Ok(content(5, 500)));
            assert_eq!(bench.fs.listxattr(keep).unwrap().len(), 6);
        }
    }
}

#[test]
fn names_and_values_leave_memory_when_there_are_too_many() {
    let mut bench = Bench::new(40, Options::default());
    let ino = bench.create("file").unwrap();
    for number in 0..20 {
        set(&mut bench, ino, &format!("user.{number}"), &content(number, 4000));
    }
    bench.fs.sync(&mut bench.host).unwrap();
    let in_memory = |bench: &Bench| {
        let table = &bench.fs.store.space.xattrs;
        (0..20).filter(|&id| table.data.get(id).is_some_and(|datum| datum.content.is_some())).count()
    };
    assert!(in_memory(&bench) < 14, "{}", in_memory(&bench));
    for number in 0..20 {
        assert_eq!(get(&mut bench, ino, &format!("user.{number}")), Ok(content(number, 4000)));
    }
}

#[test]
fn errors_and_sizes() {
    let mut bench = Bench::new(12, Options::default());
    let ino = bench.create("file").unwrap();
    let host = &mut bench.host;
    assert_eq!(bench.fs.setxattr(host, ino, b"user.a", b"", XattrMode::Replace), Err(Errno::NoData));
    bench.fs.setxattr(host, ino, b"user.a", b"", XattrMode::Create).unwrap();
    assert_eq!(bench.fs.setxattr(host, ino, b"user.a", b"1", XattrMode::Create), Err(Errno::Exist));
    // The kernel would write beyond the end of the block of 32 KiB.
    assert_eq!(bench.fs.setxattr(host, ino, b"user.b", &[7; 40_000], XattrMode::Any), Err(Errno::NoSpc));
    assert_eq!(bench.fs.getxattr(ino, b"user.a"), Ok(Vec::new()));
    assert!(!bench.fs.keeps_xattr(b"system.posix_acl_access"));
}

/// `scan.c` of a kernel without `CONFIG_JFFS2_FS_XATTR`: a node of an incompatible kind.
#[test]
fn a_kernel_without_attributes_refuses_a_medium_that_has_some() {
    let mut bench = Bench::new(12, Options::default());
    let ino = bench.create("file").unwrap();
    set(&mut bench, ino, "user.a", b"1");
    bench.fs.unmount(&mut bench.host).unwrap();
    let without = Options { xattrs: false, ..Options::default() };
    let refused = Jffs2::mount(bench.mtd.clone(), without).map(drop);
    assert!(matches!(refused, Err(MountError::Incompatible { node_type: TYPE_XATTR, .. })), "{refused:?}");
}
