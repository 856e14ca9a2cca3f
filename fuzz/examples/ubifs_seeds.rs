//! Writes a seed corpus: inputs that put the headers of UBI and the nodes of UBIFS back where they stand, so that the
//! fuzzer's changes to them are changes to fields. `cargo run --release --example ubifs_seeds -- FOLDER`, in `fuzz/`.

#[path = "../fuzz_targets/damage/mod.rs"]
mod damage;
#[path = "../fuzz_targets/ubifs_images/mod.rs"]
mod images;

use std::collections::BTreeMap;
use std::path::Path;

/// A structure's number instead of a page's; see `fuzz_targets/damage/mod.rs`.
const STRUCTURE: u16 = 0x8000;
/// Structures of one kind and length for each image.
const OF_A_KIND_MAX: usize = 3;
/// Headers and fixed fields; what follows are names, data and further branches.
const BYTES_MAX: usize = 200;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: ubifs_seeds FOLDER");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder)?;
    for (number, exhibit) in images::make().iter().enumerate() {
        let data = images::structures::data_areas(&exhibit.image, images::GEOMETRY);
        let mut seen: BTreeMap<(&[u8], Option<u8>, usize), usize> = BTreeMap::new();
        for (index, place) in exhibit.structures.iter().enumerate() {
            let content = &data[place.clone()];
            // Magic number, type of a node, length.
            let kind = (&content[..2], content.get(20).copied(), content.len() / 64);
            let count = seen.entry(kind).or_default();
            *count += 1;
            if *count > OF_A_KIND_MAX {
                continue;
            }
            let bytes = content.len().min(BYTES_MAX);
            let [index_low, index_high] = (STRUCTURE | index as u16).to_le_bytes();
            let head = [0x80 | number as u8, index_low, index_high, 0, 0, bytes as u8];
            let seed = [&head[..], &content[..bytes]].concat();
            std::fs::write(Path::new(&folder).join(format!("structure-{number}-{index}")), seed)?;
        }
    }
    Ok(())
}
