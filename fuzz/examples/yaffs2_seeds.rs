//! Writes a seed corpus: inputs that put tags, object headers, summaries and checkpoint records back where they stand, so
//! that the fuzzer's changes to them are changes to fields. `cargo run --release --example yaffs2_seeds -- FOLDER`, in
//! `fuzz/`.

#[path = "../fuzz_targets/damage/mod.rs"]
mod damage;
#[path = "../fuzz_targets/yaffs2_images/mod.rs"]
mod images;

use images::{GEOMETRY, STRIDE_BYTES};
use std::path::Path;

/// A few pages of each image are enough: the fuzzer moves patches around by itself.
const PAGES_PER_IMAGE: usize = 24;
/// Start and length within a page with OOB: type and parent; attributes and sizes; the fields at a header's end;
/// summary and checkpoint headers with the first records; in-band tags; tags in the OOB.
const PLACES: &[(usize, usize)] = &[(0, 12), (268, 40), (460, 52), (0, 120), (120, 200), (2032, 16), (2050, 28)];

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: yaffs2_seeds FOLDER");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder)?;
    for (number, (_, image)) in images::make(&images::writers()).iter().enumerate() {
        let written: Vec<usize> = (0..GEOMETRY.pages() as usize)
            .filter(|page| image[page * STRIDE_BYTES..][..STRIDE_BYTES].iter().any(|&byte| byte != 0xFF))
            .collect();
        let step = written.len().div_ceil(PAGES_PER_IMAGE).max(1);
        for &page in written.iter().step_by(step) {
            for &(at, bytes) in PLACES {
                let start = page * STRIDE_BYTES + at;
                let [page_low, page_high] = (page as u16).to_le_bytes();
                let [at_low, at_high] = (at as u16).to_le_bytes();
                let place = [0x80 | number as u8, page_low, page_high, at_low, at_high, bytes as u8];
                let seed = [&place[..], &image[start..start + bytes]].concat();
                std::fs::write(Path::new(&folder).join(format!("page-{number}-{page}-{at}-{bytes}")), seed)?;
            }
        }
    }
    Ok(())
}
