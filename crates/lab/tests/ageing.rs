//! Chips that age below whole systems: what shelves lose, and what scrubs save.

use ffslab_lab::result::VariantSummary;
use ffslab_lab::run_experiment;
use std::path::Path;

/// A device with a file of 2 MiB, unmounted.
const FILLED: &str = "[[setup]]\nstep = \"mount\"\n[[setup]]\nstep = \"create\"\nfile = \"f\"\nbytes = \"2 MiB\"\n\
                      [[setup]]\nstep = \"umount\"\n";
/// A worn part whose cells lose charge quickly.
const AGEING: &str =
    "[stack.ageing]\nendurance_erases = 3000\npe_cycles = 1500\nretention_rate = 2e-6\nretention_years = 1\n";

fn run(fs: &str, ageing: &str, steps: &str) -> VariantSummary {
    let text = format!(
        "title = \"t\"\n[stack]\nboard = \"omap3evm\"\nkernel = \"2.6.37\"\nfs = \"{fs}\"\npartition_blocks = 60\nread_ahead_KiB = 0\n{ageing}{FILLED}{steps}"
    );
    let run = run_experiment(&text, "ageing.toml", Path::new("."), &|_| true);
    run.unwrap_or_else(|error| panic!("{error:?}\n{text}")).summary.variants.remove(0)
}

fn measure(step: &str) -> String {
    format!("[[measure]]\nstep = \"{step}\"\n")
}

fn shelf(days: u32) -> String {
    format!("[[measure]]\nstep = \"shelf\"\ndays = {days}\ntemperature_C = 55\n")
}

fn count(variant: &VariantSummary, name: &str) -> i64 {
    *variant.counters.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", variant.counters))
}

/// What the last scrub could not correct.
fn lost(variant: &VariantSummary) -> i64 {
    let scrub = variant.steps.iter().rfind(|step| step.step == "scrub").unwrap();
    scrub.counters["uncorrectable_frames"]
}

/// Five years in which nobody reads lose frames. With scrubs in between nearly all of them are saved, because UBI moves the data that
/// ECC still corrects.
#[test]
fn ubi_moves_data_before_they_are_lost() {
    let sleep = "[[measure]]\nstep = \"sleep\"\nus = 60000000\n".to_string();
    let scrub = measure("ubi_attach") + &measure("scrub") + &sleep + &measure("ubi_detach");
    let detach = "[[setup]]\nstep = \"ubi_detach\"\n";
    let neglected = run("ubifs", AGEING, &format!("{detach}{}{scrub}", shelf(5 * 365)));
    assert!(lost(&neglected) > 40, "{:?}", neglected.counters);
    let years = (shelf(73) + &scrub).repeat(25);
    let scrubbed = run("ubifs", AGEING, &format!("{detach}{years}"));
    assert!(count(&scrubbed, "scrubs") > 10, "{:?}", scrubbed.counters);
    assert!(lost(&scrubbed) * 5 < lost(&neglected), "{} and {}", lost(&scrubbed), lost(&neglected));
}

/// Without a model of ageing nothing is counted, and nothing differs when there is one whose rates are 0.
#[test]
fn what_does_not_age_is_as_it_was() {
    let read = measure("mount") + "[[measure]]\nstep = \"stat\"\nfile = \"f\"\n";
    for fs in ["jffs2", "yaffs2", "ubifs"] {
        let never = "[stack.ageing]\nendurance_erases = 3000\nwrite_rate = 0.0\nretention_rate = 0.0\ndisturb_rate = 0.0\nfailed_share = 0.0\n";
        let (without, with) = (run(fs, "", &read), run(fs, never, &read));
        // A counter that gained nothing is left out.
        assert!(without.counters.is_empty() && with.counters.is_empty(), "{:?}", with.counters);
        let told = |variant: &VariantSummary| {
            serde_json::to_string(&(&variant.totals, &variant.by_cause, variant.time_us)).unwrap()
        };
        assert_eq!(told(&without), told(&with), "{fs}");
    }
}

#[test]
fn the_same_experiment_loses_the_same() {
    let steps = shelf(2_000) + &measure("scrub");
    let told = |seed: u32| {
        let ageing = format!("{AGEING}seed = {seed}\n");
        serde_json::to_string(&run("jffs2", &ageing, &steps)).unwrap()
    };
    assert_eq!(told(1), told(1));
    assert_ne!(told(1), told(2));
}

/// On all three file systems and on the raw partition what a shelf does is found by a scrub.
#[test]
fn a_scrub_reads_all_of_the_partition() {
    for fs in ["jffs2", "yaffs2"] {
        let variant = run(fs, AGEING, &(shelf(2_000) + &measure("scrub")));
        assert_eq!(variant.totals.page_reads, 60 * 64, "{fs}");
        assert!(count(&variant, "corrected_bits") > 0);
    }
}

#[test]
fn a_shelf_needs_a_chip_that_ages_and_nothing_mounted() {
    let refused = |ageing: &str, steps: &str| {
        let text = format!(
            "title = \"t\"\n[stack]\nboard = \"omap3evm\"\nkernel = \"2.6.37\"\nfs = \"jffs2\"\npartition_blocks = 60\n{ageing}{steps}"
        );
        run_experiment(&text, "a.toml", Path::new("."), &|_| true).unwrap_err().to_string()
    };
    let without = refused("", &shelf(1));
    assert!(without.contains("[stack.ageing]"), "{without}");
    let mounted = refused(AGEING, &(measure("mount") + &shelf(1)));
    assert!(mounted.contains("mounted"), "{mounted}");
    let negative = refused(AGEING, &shelf(1).replace("= 1\n", "= -1\n"));
    assert!(negative.contains("days is -1"), "{negative}");
}
