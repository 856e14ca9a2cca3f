//! A directory lists its names in the order of their hashes, also after a mount.

use ffslab_fs::{FileSystem, NameHash};

use super::Bench;
use crate::Options;

#[test]
fn names_stand_in_the_order_of_the_machines_hash() {
    for name_hash in [NameHash::Bytes, NameHash::Words32, NameHash::Words64] {
        let mut bench = Bench::new(12, Options { name_hash, ..Options::default() });
        for i in 0..100 {
            bench.create(&format!("{}{i}", "a long name ".repeat(i % 4))).unwrap();
        }
        bench.fs.sync(&mut bench.host).unwrap();
        for mounts in 0..2 {
            let mut hashes = Vec::new();
            bench.fs.readdir(1, &mut |entry| hashes.push(name_hash.of(entry.name))).unwrap();
            assert_eq!(hashes.len(), 100);
            assert!(hashes.is_sorted(), "{name_hash:?} after {mounts} mounts");
            bench.remount(true);
        }
    }
}
