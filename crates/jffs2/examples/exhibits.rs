//! Writes dumps of chips on which JFFS2 has lived, for a real kernel to judge (tests/referee):
//! `cargo run -p ffslab-jffs2 --example exhibits -- FOLDER [CUTS]`. CUTS: power cuts of each workload, 1 unless given.
//!
//! FOLDER then holds `busy-VARIANT.dump`, unmounted, and `cut-NUMBER.dump`, whose power went away in the middle of
//! something, beside `cut-NUMBER.recovered`: the same after a mount, missing where the mount was refused.

#[path = "../tests/subject/mod.rs"]
mod subject;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use ffslab_conformance::{exhibits, workloads};
use ffslab_flash::{Geometry, Torn};
use ffslab_jffs2::{Compression, Options};
use subject::Jffs2Subject;

const USUAL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 64 };
const SMALL: Geometry = Geometry { blocks: 16, ..USUAL };
const CALLS: usize = 2_500;
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, cuts) = match arguments.as_slice() {
        [folder] => (folder, Ok(1)),
        [folder, cuts] => (folder, cuts.parse()),
        _ => {
            eprintln!("usage: exhibits FOLDER [CUTS]");
            return ExitCode::from(2);
        }
    };
    let Ok(cuts) = cuts else {
        eprintln!("CUTS must be a whole number");
        return ExitCode::from(2);
    };
    match write_all(Path::new(folder), cuts) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write_all(folder: &Path, cuts: u64) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let plain = Options::default();
    let zlib = Options { compression: Compression::Zlib, summary: true, ..plain };
    for (seed, (name, options)) in [("plain", plain), ("zlib-summary", zlib)].into_iter().enumerate() {
        let subject = Jffs2Subject { options, geometry: USUAL };
        std::fs::write(folder.join(format!("busy-{name}.dump")), exhibits::busy(&subject, seed as u64, CALLS)?)?;
    }
    let mut number = 0;
    for (index, workload) in workloads::ALL.iter().enumerate() {
        for _ in 0..cuts {
            // Spread over the workload's programs and erases.
            let percent = 5 + number * 37 % 90;
            let torn = [Torn::Partial { seed: number }, Torn::Nothing, Torn::Complete][number as usize % 3];
            let subject = Jffs2Subject { options: if index % 2 == 0 { plain } else { zlib }, geometry: SMALL };
            let cut = exhibits::cut(&subject, workload.name, percent, torn)?;
            std::fs::write(folder.join(format!("cut-{number:03}.dump")), cut.at_cut)?;
            if let Some(recovered) = cut.recovered {
                std::fs::write(folder.join(format!("cut-{number:03}.recovered")), recovered)?;
            }
            println!("cut-{number:03}: {}, {percent} %, {torn:?}", workload.name);
            number += 1;
        }
    }
    Ok(())
}
