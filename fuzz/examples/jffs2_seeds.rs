//! Writes a seed corpus: inputs that put headers of real nodes back where they stand, so that the fuzzer's changes to
//! them are changes to headers. `cargo run --release --example jffs2_seeds -- FOLDER`, in `fuzz/`.

#[path = "../fuzz_targets/damage/mod.rs"]
mod damage;
#[path = "../fuzz_targets/jffs2_images/mod.rs"]
mod images;

use images::STRIDE_BYTES;
use std::path::Path;

/// `JFFS2_MAGIC_BITMASK`, little-endian.
const MAGIC: [u8; 2] = [0x85, 0x19];
/// The longest header is that of an inode node.
const HEADER_BYTES: usize = 68;
/// A few headers of each image are enough: the fuzzer moves patches around by itself.
const SEEDS_PER_IMAGE: usize = 48;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: jffs2_seeds FOLDER");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder)?;
    for (number, image) in images::make().iter().enumerate() {
        let headers: Vec<(usize, usize)> = image
            .chunks_exact(STRIDE_BYTES)
            .enumerate()
            .flat_map(|(page, bytes)| {
                let places = (0..bytes.len() - HEADER_BYTES).step_by(4);
                places.filter(|&at| bytes[at..at + 2] == MAGIC).map(move |at| (page, at)).collect::<Vec<_>>()
            })
            .collect();
        let step = headers.len().div_ceil(SEEDS_PER_IMAGE).max(1);
        for &(page, at) in headers.iter().step_by(step) {
            let start = page * STRIDE_BYTES + at;
            let [page_low, page_high] = (page as u16).to_le_bytes();
            let [at_low, at_high] = (at as u16).to_le_bytes();
            let place = [0x80 | number as u8, page_low, page_high, at_low, at_high, HEADER_BYTES as u8];
            let seed = [&place[..], &image[start..start + HEADER_BYTES]].concat();
            std::fs::write(Path::new(&folder).join(format!("header-{number}-{page}-{at}")), seed)?;
        }
    }
    Ok(())
}
