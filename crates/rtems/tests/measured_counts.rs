//! Every count of the measured cases: the real RTEMS did the same, on the same device. Skipped when the cases are not there.

mod support;

use ffslab_rtems::phases::flash::FlashSettings;
use std::collections::BTreeMap;
use support::{compare, compare_flash, measured_flash_runs, measured_runs, Comparison};

/// Compares all runs of a file; prints the phases that differ.
fn check(file: &str) -> Option<Comparison> {
    let runs = measured_runs(file)?;
    Some(sum(file, runs.iter().map(compare)))
}

fn sum(file: &str, comparisons: impl Iterator<Item = Comparison>) -> Comparison {
    let mut total = Comparison::default();
    let mut differing = BTreeMap::<String, u32>::new();
    for comparison in comparisons {
        for difference in &comparison.differences {
            *differing.entry(difference.phase.clone()).or_default() += 1;
            if total.differences.len() < 12 {
                println!("{file}: {difference}");
                total.differences.push(difference.clone());
            }
        }
        total.phases += comparison.phases;
        total.exact += comparison.exact;
    }
    println!("{file}: {} of {} phases exact; {differing:?}", total.exact, total.phases);
    total
}

#[test]
fn rfs_on_16_mib() {
    let Some(total) = check("rfs_16MB") else { return };
    assert_eq!(total.exact, total.phases);
}

#[test]
fn rfs_with_other_block_sizes() {
    let Some(total) = check("rfs_other_block_sizes") else { return };
    assert_eq!(total.exact, total.phases);
}

#[test]
fn dosfs_on_16_mib() {
    let Some(total) = check("dosfs_16MB") else { return };
    assert_eq!(total.exact, total.phases);
}

#[test]
fn the_papers_configuration() {
    let Some(total) = check("paper_config_128MB_cache10K_bmax1K") else { return };
    assert_eq!(total.exact, total.phases);
}

#[test]
fn cache_sizes() {
    let Some(total) = check("cache_sweep_io4096_128MB") else { return };
    assert_eq!(total.exact, total.phases);
}

#[test]
fn media_that_want_consecutive_blocks() {
    let Some(total) = check("storage_media_512B_contiguous_cap") else { return };
    assert_eq!(total.exact, total.phases);
}

#[test]
fn read_ahead() {
    let Some(total) = check("read_ahead") else { return };
    assert_eq!(total.exact, total.phases);
}

#[test]
fn hold_timer() {
    let Some(total) = check("hold_timer") else { return };
    assert_eq!(total.exact, total.phases);
}

#[test]
fn imfs() {
    let Some(total) = check("imfs") else { return };
    assert_eq!(total.exact, total.phases);
}

/// Where data shrink the lengths of nodes are those of another zlib and of a text that is not recorded: see the README.
#[test]
fn jffs2() {
    let Some(mut runs) = measured_flash_runs("jffs2_16MB") else { return };
    let differs = |s: &FlashSettings| match s.data.as_str() {
        "text" => s.compressor != "none",
        "zero" => s.compressor == "zlib",
        _ => false,
    };
    let differing: Vec<_> = runs.extract_if(.., |run| differs(&run.settings)).collect();
    let total = sum("jffs2_16MB", runs.iter().map(|run| compare_flash(&run.settings, &run.phases)));
    assert_eq!(total.exact, total.phases);
    let total = sum("shrinking data", differing.iter().map(|run| compare_flash(&run.settings, &run.phases)));
    assert!(total.exact >= 206, "{} of {}", total.exact, total.phases);
}
