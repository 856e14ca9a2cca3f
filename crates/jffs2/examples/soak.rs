//! The long form of the conformance kit: JFFS2 loses its power after every flash operation of every workload, and is
//! given thousands of damaged images. Run with `make soak`, or
//! `cargo run --release -p ffslab-jffs2 --example soak -- POINTS IMAGES`.
//!
//! POINTS: cut points for each workload and kind of torn operation (all of them if there are fewer). IMAGES: damaged
//! images for each of the four variants.

#[path = "../tests/subject/mod.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::Arc;

use ffslab_conformance::{hostile, power_cuts, Failure};
use ffslab_flash::Geometry;
use ffslab_jffs2::{Compression, Options};
use subject::Jffs2Subject;

/// 24 erase blocks of 32 KiB: garbage collection is never far.
const SMALL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 24 };

fn variants() -> [(&'static str, Options); 4] {
    let with = |compression, options| Options { compression, ..options };
    [
        ("plain", Options::default()),
        ("zlib, summaries", with(Compression::Zlib, Options { summary: true, ..Options::default() })),
        ("rtime, as Linux 2.6.37", with(Compression::Rtime, Options::linux_2_6_37())),
        ("lzo, summaries", with(Compression::Lzo, Options { summary: true, ..Options::default() })),
    ]
}

fn soak(points_max: u64, images: u32) -> Result<(), Failure> {
    let (mut cut_points, mut damaged) = (0, 0);
    for (name, options) in variants() {
        let subject = Jffs2Subject { options, geometry: SMALL };
        let report = power_cuts::check(&subject, &power_cuts::Options { points_max, ..Default::default() })?;
        println!("power cuts, {name}:\n{report}");
        cut_points += report.cut_points();
        let report = hostile::check(Arc::new(subject), &hostile::Options { images, seed: 3, ..Default::default() })?;
        println!("damaged images, {name}: {report:?}");
        damaged += images;
    }
    println!("{cut_points} cut points, {damaged} damaged images: nothing lost, no panic, no hang");
    Ok(())
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let (points, images) = match (numbers.next(), numbers.next()) {
        (None, None) => (2_000, 5_000),
        (Some(Ok(points)), Some(Ok(images))) => (points, images),
        _ => {
            eprintln!("usage: soak [POINTS IMAGES], two whole numbers");
            return ExitCode::from(2);
        }
    };
    match soak(u64::from(points), images) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
