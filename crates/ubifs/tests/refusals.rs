//! What cannot be mounted is refused with the numbers that a user needs.

use crate::subject;
use crate::support;

use ffslab_flash::{Geometry, ImageLayout};
use ffslab_ubifs::Options;
use subject::structures;
use support::Bench;

fn refusal(blocks: u32, options: Options) -> String {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks };
    Bench::new(geometry, 1 << 20, options).mount().unwrap_err()
}

#[test]
fn a_volume_that_is_too_small_is_refused_with_what_it_lacks() {
    // The volume table takes 2 blocks, moving data 2, bad blocks 1.
    assert_eq!(refusal(21, Options::default()), "UBIFS needs at least 17 LEBs, the volume has 16");
}

#[test]
fn a_journal_that_does_not_fit_is_refused_before_anything_is_written() {
    // 16 LEBs, 3 of them log: the main area must hold the other 13, beside 3 + 3 + 2 + 2 LEBs.
    let options = Options { journal_bytes: Some(16 * 129_024), ..Options::default() };
    assert_eq!(refusal(27, options), "UBIFS needs at least 23 LEBs, the volume has 22");
}

/// A root inode of an impossible kind, with a check sum that is right.
#[test]
fn a_damaged_inode_is_named_with_its_place() {
    const BLOCKS: u32 = 32;
    const PLAIN: ImageLayout = ImageLayout { oob: false, hamming_ecc: false };
    // Positions in an inode node.
    const TYPE: usize = 20;
    const KEY_INO: usize = 24;
    const MODE: usize = 104;
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: BLOCKS };
    let mut bench = Bench::new(geometry, 1 << 20, Options::default());
    bench.mount().unwrap();
    bench.vfs.umount().unwrap();
    let mut image = Vec::new();
    bench.nand.with_chip(|chip| chip.write_image(&mut image, 0..BLOCKS, PLAIN)).unwrap();
    let mut damaged = 0;
    for structure in structures::structures(&image, geometry) {
        let at = structure.place.start;
        let is_node = image[at..].starts_with(&0x0610_1831u32.to_le_bytes());
        if is_node && image[at + TYPE] == 0 && image[at + KEY_INO..].starts_with(&1u32.to_le_bytes()) {
            image[at + MODE..at + MODE + 4].fill(0);
            structures::seal(&mut image, &structure);
            damaged += 1;
        }
    }
    assert_eq!(damaged, 1);
    let mut bench = Bench::new(geometry, 1 << 20, Options::default());
    bench.nand.with_chip(|chip| chip.load_bytes("damaged", &image, 0..BLOCKS, PLAIN)).unwrap();
    // The main area begins at LEB 10, and formatting writes the root inode into its second LEB.
    let error = bench.mount().unwrap_err();
    assert_eq!(error, "the volume holds no valid UBIFS: bad inode node (inode 1, LEB 11, offset 0)");
}
