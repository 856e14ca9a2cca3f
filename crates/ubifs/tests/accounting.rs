//! The accounting agrees with what a scan of the medium and a walk through the index find, whatever happened before:
//! overwrites until garbage is collected, deletions, power cuts in the middle of anything.

use crate::support;

use ffslab_flash::{Chip, Geometry, Torn};
use ffslab_fs::{RenameFlags, XattrMode};
use ffslab_linux::{Calls, MapAccess, OpenFlags};
use ffslab_ubifs::{Compression, Options};
use ffslab_workload::SplitMix64;
use support::Bench;

/// 16 pages of 2048 bytes in a block.
fn small(blocks: u32, options: Options) -> Bench {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks };
    Bench::new(geometry, 4 << 20, options)
}

impl Bench {
    /// Mounts, compares, unmounts.
    fn check(&mut self) -> Result<u64, String> {
        self.file_system()?.check()
    }

    fn power_cycle(&mut self) {
        self.vfs.crash();
        self.nand.with_chip(Chip::power_on);
        self.nand.restart();
    }

    /// One random call; errors are part of the game.
    fn step(&mut self, random: &mut SplitMix64) {
        let name = format!("f{}", random.below(24));
        let path = name.as_bytes();
        let flags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };
        match random.below(21) {
            0..=8 => {
                let Ok(fd) = self.vfs.open(path, flags, 0o644) else { return };
                let bytes = 1 + random.below(12_000) as usize;
                let at = random.below(60_000);
                let pattern = random.next_u64().to_le_bytes();
                let _ = self.vfs.write_pattern(fd, at, bytes, &pattern);
                if random.below(3) == 0 {
                    let _ = self.vfs.fsync(fd);
                }
                let _ = self.vfs.close(fd);
            }
            9..=10 => drop(self.vfs.unlink(path)),
            11 => drop(self.vfs.truncate(path, random.below(50_000))),
            12 => drop(self.vfs.rename(path, format!("f{}", random.below(24)).as_bytes())),
            13 => drop(self.vfs.link(path, format!("l{}", random.below(8)).as_bytes())),
            14 => drop(self.vfs.sync()),
            15..=16 => {
                let value = vec![7; random.below(3_000) as usize];
                let name = format!("user.{}", random.below(6));
                let _ = match random.below(3) {
                    0 => self.vfs.removexattr(path, name.as_bytes()),
                    _ => self.vfs.setxattr(path, name.as_bytes(), &value, XattrMode::Any),
                };
            }
            17 => {
                let flags = if random.below(2) == 0 { RenameFlags::EXCHANGE } else { RenameFlags::WHITEOUT };
                let _ = self.vfs.rename_with(path, format!("f{}", random.below(24)).as_bytes(), flags);
            }
            18 => {
                let Ok(fd) = self.vfs.open(b"/", OpenFlags { unnamed: true, ..OpenFlags::READ_WRITE }, 0o644) else {
                    return;
                };
                let _ = self.vfs.write_pattern(fd, 0, 9_000, b"pattern!");
                let _ = (random.below(2) == 0).then(|| self.vfs.sync());
                let _ = (random.below(2) == 0).then(|| self.vfs.link_descriptor(fd, path));
                let _ = self.vfs.close(fd);
            }
            19 => {
                let Ok(fd) = self.vfs.open(path, OpenFlags::READ_WRITE, 0) else { return };
                let bytes = self.vfs.fstat(fd).unwrap().size_bytes;
                if self.vfs.mmap(fd, 0, bytes, MapAccess::Write).is_ok() {
                    for _ in 0..random.below(8) {
                        let _ = self.vfs.map_store(fd, random.below(bytes), b"s");
                        let _ = (random.below(3) == 0).then(|| self.vfs.msync(fd, 0, bytes as usize));
                    }
                }
                let _ = self.vfs.close(fd);
            }
            _ => self.vfs.sleep_ns(random.below(8_000_000_000)),
        }
    }
}

fn check_through_power_cuts(options: Options, blocks: u32, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut random = SplitMix64::new(seed);
        let mut bench = small(blocks, options);
        bench.mount().unwrap();
        bench.vfs.sync().unwrap();
        for round in 0..6 {
            let steps = 20 + random.below(120);
            let cut = random.below(900);
            let torn = match random.below(3) {
                0 => Torn::Nothing,
                1 => Torn::Partial { seed: cut },
                _ => Torn::Complete,
            };
            bench.nand.with_chip(|chip| chip.cut_power_after(cut + 1, torn));
            (0..steps).for_each(|_| bench.step(&mut random));
            bench.power_cycle();
            bench.check().unwrap_or_else(|text| panic!("seed {seed}, round {round}: {text}"));
            bench.mount().unwrap_or_else(|text| panic!("seed {seed}, round {round}: {text}"));
        }
        bench.vfs.umount().unwrap();
        bench.check().unwrap_or_else(|text| panic!("seed {seed}, after unmounting: {text}"));
        assert!(bench.sim.now_ns() > 0);
    }
}

#[test]
fn accounting_agrees_after_power_cuts() {
    check_through_power_cuts(Options::default(), 48, 1..13);
}

#[test]
fn accounting_agrees_after_power_cuts_where_space_is_short() {
    check_through_power_cuts(Options::default(), 30, 100..112);
}

#[test]
fn accounting_agrees_with_compression() {
    check_through_power_cuts(Options { compression: Compression::Zlib, ..Options::default() }, 40, 200..206);
}
