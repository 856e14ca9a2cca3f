//! The long form of the kit: the power goes away after every flash operation of every workload, and thousands of damaged
//! images are used. A file system crate runs it as an example of its own.

use crate::{hostile, power_cuts, Failure, Subject};
use std::process::ExitCode;
use std::sync::Arc;

/// A file system, with a name that describes its special settings.
pub type Variant = (&'static str, Arc<dyn Subject>);

/// Number of cuts for each workload and kind of torn operation, and of damaged images for each variant.
const POINTS_MAX: u32 = 2_000;
const IMAGES: u32 = 5_000;
/// Number of cuts for each variant, at least.
const POINTS_LEAST: u64 = 10_000;

/// Reads `POINTS IMAGES` from the command line, or takes the default numbers, and soaks every variant, or those that are named
/// behind them.
pub fn main(variants: &[Variant]) -> ExitCode {
    let mut args = std::env::args().skip(1);
    let numbers = [args.next(), args.next()].map(|text| text.map(|text| text.parse::<u32>()));
    let (points_max, images) = match numbers {
        [None, None] => (POINTS_MAX, IMAGES),
        [Some(Ok(points_max)), Some(Ok(images))] => (points_max, images),
        _ => {
            eprintln!("usage: soak [POINTS IMAGES [VARIANT ...]], two whole numbers and names");
            return ExitCode::from(2);
        }
    };
    let wanted: Vec<String> = args.collect();
    let known: Vec<&str> = variants.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        eprintln!("unknown variant \"{unknown}\"; known: {}", known.join("; "));
        return ExitCode::from(2);
    }
    let is_wanted = |(name, _): &&Variant| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let variants: Vec<Variant> = variants.iter().filter(is_wanted).cloned().collect();
    match soak(&variants, u64::from(points_max), images) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn soak(variants: &[Variant], points_max: u64, images: u32) -> Result<(), Failure> {
    let (mut cut_points, mut cuts_of_recovery, mut damaged) = (0, 0, 0);
    for (name, subject) in variants {
        // Who asks for fewer points than usual is in a hurry.
        let points_least = if points_max < u64::from(POINTS_MAX) { 0 } else { POINTS_LEAST };
        let options = &power_cuts::Options { points_max, points_least, ..Default::default() };
        let report = power_cuts::check(&**subject, options)?;
        println!("power cuts, {name}:\n{report}");
        cut_points += report.cut_points();
        cuts_of_recovery += report.workloads.iter().map(|workload| workload.cuts_of_recovery).sum::<u64>();
        let report = hostile::check(subject.clone(), &hostile::Options { images, seed: 3, ..Default::default() })?;
        println!("damaged images, {name}: {report:?}");
        damaged += images;
    }
    println!(
        "{cut_points} cut points, {cuts_of_recovery} more during recovery, {damaged} damaged images: nothing lost, no panic, \
         no hang"
    );
    Ok(())
}
