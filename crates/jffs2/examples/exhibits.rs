//! Writes dumps of chips on which JFFS2 has lived, for a real kernel to judge (tests/referee):
//! `cargo run -p ffslab-jffs2 --example exhibits -- FOLDER`.
//!
//! FOLDER then holds `busy-VARIANT.dump`, unmounted, and `cut-NUMBER.dump`, whose power went away in the middle of
//! something, beside `cut-NUMBER.recovered`: the same after a mount, missing where the mount was refused.

#[path = "../tests/subject/mod.rs"]
mod subject;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ffslab_conformance::{exhibits, workloads};
use ffslab_flash::{Geometry, Torn};
use ffslab_jffs2::{Compression, Options};
use subject::Jffs2Subject;

const USUAL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 64 };
const SMALL: Geometry = Geometry { blocks: 16, ..USUAL };
const CALLS: usize = 2_500;
/// When the power goes away, in per cent of the programs and erases of a workload.
const CUTS_PERCENT: [u64; 2] = [37, 81];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), None) = (arguments.next().map(PathBuf::from), arguments.next()) else {
        eprintln!("usage: exhibits FOLDER");
        return ExitCode::from(2);
    };
    match write_all(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write_all(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let plain = Options::default();
    let zlib = Options { compression: Compression::Zlib, summary: true, ..plain };
    for (seed, (name, options)) in [("plain", plain), ("zlib-summary", zlib)].into_iter().enumerate() {
        let subject = Jffs2Subject { options, geometry: USUAL };
        std::fs::write(folder.join(format!("busy-{name}.dump")), exhibits::busy(&subject, seed as u64, CALLS)?)?;
    }
    let mut number = 0;
    for (index, workload) in workloads::ALL.iter().enumerate() {
        for percent in CUTS_PERCENT {
            let torn = [Torn::Partial { seed: percent }, Torn::Nothing, Torn::Complete][number % 3];
            let subject = Jffs2Subject { options: if index % 2 == 0 { plain } else { zlib }, geometry: SMALL };
            let cut = exhibits::cut(&subject, workload.name, percent, torn)?;
            std::fs::write(folder.join(format!("cut-{number:02}.dump")), cut.at_cut)?;
            if let Some(recovered) = cut.recovered {
                std::fs::write(folder.join(format!("cut-{number:02}.recovered")), recovered)?;
            }
            println!("cut-{number:02}: {}, {percent} %, {torn:?}", workload.name);
            number += 1;
        }
    }
    Ok(())
}
