//! Whole lives: what ends them, that a fast life ends where an exact one does, and what is refused.

use ffslab_lab::life::{live_experiment, Asked, End, VariantLife};
use ffslab_lab::{Given, LabError};
use std::path::Path;

const AGEING: &str = "ageing = { endurance_erases = 40, write_rate = 0, retention_rate = 0, disturb_rate = 0 }\n";

fn text(fs: &str, more: &str, measure: &str) -> String {
    format!(
        "title = \"a life\"\n[stack]\nboard = \"zero-overhead\"\nfs = \"{fs}\"\npartition_blocks = 40\n{more}\n\
         [[setup]]\nstep = \"mount\"\n[[setup]]\nstep = \"create\"\nfile = \"still\"\nbytes = \"1 MiB\"\n\
         [[setup]]\nstep = \"sync\"\n{measure}"
    )
}

const REPLACED: &str =
    "[[measure]]\nstep = \"create\"\nfile = \"log\"\nbytes = \"1 MiB\"\n[[measure]]\nstep = \"sync\"\n";

fn asked(leaps: bool) -> Asked {
    let leaps_after_work = leaps.then_some(0);
    Asked {
        per_day: Some(24.0),
        years: 50.0,
        endurance_erases: None,
        leaps_after_work,
        operations_max: None,
        worn_erases: None,
    }
}

fn lives(text: &str, asked: &Asked) -> Result<VariantLife, LabError> {
    let found =
        live_experiment(&text.into(), "life.toml", Path::new("."), asked, Given::default(), &|_| true, &|_, _| ())?;
    Ok(found.lives.into_iter().next().expect("there is one variant"))
}

#[test]
fn a_device_lives_until_its_spare_blocks_are_gone() {
    for (fs, more) in [("jffs2", ""), ("yaffs2", ""), ("ubifs", "max_beb_per1024 = 1\n")] {
        let one = lives(&text(fs, &format!("{more}{AGEING}"), REPLACED), &asked(false)).unwrap();
        let life = &one.life;
        assert!(matches!(life.ended.end, End::NoSpareBlocks | End::ReadOnly | End::Failed), "{fs}: {:?}", life.ended);
        assert!(life.bad_blocks > 0 && life.first_bad_block_years.unwrap() <= life.years, "{fs}");
        assert_eq!((life.repetitions, life.leaps), (life.repetitions_run, 0), "{fs}");
        // Every hour one repetition.
        let hours = life.years * 365.25 * 24.0;
        assert!((hours - life.repetitions as f64).abs() <= 1.5, "{fs}: {hours} {}", life.repetitions);
        // Blocks fail around their endurance. JFFS2 goes on using one whose programs fail: only a failed erase makes it bad.
        assert!(
            one.blocks_fail && (20..=if fs == "jffs2" { 10_000 } else { 120 }).contains(&life.erases.max),
            "{fs}: {:?}",
            life.erases
        );
        assert_eq!(life.points.last().unwrap().erases, life.erases);
        assert_eq!(life.wear.erases.last().unwrap().len(), 40);
    }
}

#[test]
fn the_same_life_again_is_the_same_and_a_limit_ends_it() {
    let short = Asked { years: 0.02, ..asked(false) };
    let text = text("jffs2", AGEING, REPLACED);
    let (one, other) = (lives(&text, &short).unwrap(), lives(&text, &short).unwrap());
    assert_eq!(serde_json::to_string(&one.life).unwrap(), serde_json::to_string(&other.life).unwrap());
    assert_eq!(one.life.ended.end, End::Limit);
    assert!(one.life.years >= 0.02 && one.life.years < 0.021);
}

/// UBI's counters, in memory and on the flash, follow a leap: a remount in each repetition reads them.
#[test]
fn a_fast_life_leaps_and_ubi_follows() {
    let ageing = AGEING.replace("= 40", "= 400");
    let remounted = format!("{REPLACED}[[measure]]\nstep = \"boot\"\n");
    let text = text("ubifs", &format!("max_beb_per1024 = 1\n{ageing}"), &remounted);
    let life = lives(&text, &asked(true)).unwrap().life;
    assert!(life.leaps > 0 && life.repetitions_run < life.repetitions, "{} leaps", life.leaps);
    assert!(life.bad_blocks > 0, "{:?}", life.ended);
    let leapt: u32 = life.points.iter().filter(|point| point.leapt).count() as u32;
    assert!(leapt > 0 && life.points.is_sorted_by(|a, b| a.erases.mean <= b.erases.mean));
}

#[test]
fn what_only_grows_is_full_and_says_so() {
    let growing = "[[setup]]\nstep = \"open\"\nfile = \"log\"\nflags = [\"wronly\", \"create\", \"append\"]\n\
                   [[measure]]\nstep = \"append\"\nfile = \"log\"\nrequest_B = \"64 KiB\"\ncount = 4\nsync = \"fsync\"\n";
    let life = lives(&text("jffs2", AGEING, growing), &asked(false)).unwrap().life;
    assert_eq!((life.ended.end, life.bad_blocks), (End::Full, 0));
    assert!(life.ended.error.unwrap().contains("ENOSPC"));
}

#[test]
fn a_medium_that_does_not_age_ends_with_its_first_worn_block() {
    let nor = text("jffs2", "", REPLACED).replace("zero-overhead\"", "licheepi-nano\"\npart = \"n25q128a13\"");
    let asked = Asked { endurance_erases: Some(30), ..asked(false) };
    let one = lives(&nor.replace("1 MiB", "256 KiB"), &asked).unwrap();
    assert_eq!((one.life.ended.end, one.blocks_fail, one.life.erases.max), (End::Endurance, false, 30));
}

#[test]
fn a_first_repetition_that_fails_is_refused() {
    let wrong = text("jffs2", AGEING, "[[measure]]\nstep = \"unlink\"\nfile = \"absent\"\n");
    assert!(lives(&wrong, &asked(false)).unwrap_err().to_string().contains("ENOENT"));
}

/// A run of requests that meets a full partition has a result, but a device that can do no more of them has come to its end.
#[test]
fn requests_that_are_stopped_end_a_life() {
    let setup = "[[setup]]\nstep = \"create\"\nfile = \"log\"\nbytes = \"1 MiB\"\n\
                 [[setup]]\nstep = \"open\"\nfile = \"log\"\nflags = [\"wronly\"]\n";
    let measure =
        "[[measure]]\nstep = \"requests\"\nfile = \"log\"\nop = \"write\"\nrequest_B = \"4 KiB\"\ncount = 256\n\
                   pattern = \"random\"\n[[measure]]\nstep = \"fsync\"\nfile = \"log\"\n";
    let life = lives(&text("yaffs2", AGEING, &format!("{setup}{measure}")), &asked(false)).unwrap().life;
    assert_eq!(life.ended.end, End::NoSpareBlocks);
    let error = life.ended.error.unwrap();
    assert!(error.starts_with("measure step 1 (requests \"log\"): ENOSPC after "), "{error}");
}

/// Where UBI moves data all the time, a leap gives all blocks as many erases, and ends where the exact life does.
#[test]
fn levelled_wear_is_leapt_over() {
    let ageing = AGEING.replace("= 40", "= 400");
    let text = text("ubifs", &format!("max_beb_per1024 = 1\nwl_threshold = 12\n{ageing}"), REPLACED);
    let [exact, fast] = [false, true].map(|leaps| lives(&text, &asked(leaps)).unwrap().life);
    assert!(
        fast.leaps > 0 && fast.repetitions_run * 10 < fast.repetitions * 9,
        "{} {}",
        fast.leaps,
        fast.repetitions_run
    );
    let off = |fast: f64, exact: f64| (fast / exact - 1.0).abs();
    assert!(off(fast.years, exact.years) < 0.05, "{} {}", fast.years, exact.years);
    for (fast, exact) in [(fast.erases.p5, exact.erases.p5), (fast.erases.p95, exact.erases.p95)] {
        assert!(off(f64::from(fast), f64::from(exact)) < 0.1, "{fast} {exact}");
    }
}

/// A device whose programs run beside each other lives as one whose workload is alone.
#[test]
fn programs_beside_the_measured_steps_live_too() {
    let beside = "[[program]]\nname = \"other\"\nbackground = true\nsteps = [{ step = \"create\", file = \"beside\", bytes = \"64 KiB\" }, \
                  { step = \"sync\" }, { step = \"sleep\", us = 1000 }]\n";
    let alone = text("jffs2", AGEING, REPLACED);
    let [one, both] = [alone.clone(), format!("{alone}{beside}")].map(|text| lives(&text, &asked(false)).unwrap().life);
    assert!(both.bad_blocks > 0, "{:?}", both.ended);
    assert!(both.years < one.years && both.written_bytes / both.repetitions > 1 << 20, "{} {}", both.years, one.years);
}

#[test]
fn a_workload_that_writes_nothing_wears_nothing_and_one_that_takes_too_long_is_not_known() {
    let looks = "[[measure]]\nstep = \"stat\"\nfile = \"still\"\n";
    assert_eq!(lives(&text("jffs2", AGEING, looks), &asked(false)).unwrap().life.ended.end, End::Unworn);
    let short = Asked { operations_max: Some(5_000), ..asked(false) };
    let life = lives(&text("jffs2", AGEING, REPLACED), &short).unwrap().life;
    assert_eq!(life.ended.end, End::Unknown);
    let ageing = AGEING.replace("= 40", "= 400");
    let ubifs = text("ubifs", &format!("max_beb_per1024 = 1\n{ageing}"), REPLACED);
    let whole = lives(&ubifs, &Asked { years: 0.5, ..asked(false) });
    let life = whole.unwrap().life;
    assert!(life.steady_from_days.is_some_and(|days| days < 100.0), "{:?}", life.steady_from_days);
    assert!(life.latency.calls > 0 && life.latency.max_us >= life.latency.p99_us);
}

/// A ring of files, the oldest of which makes room: the names go on over all repetitions, or the device would write one file.
#[test]
fn a_loop_lives_until_its_device_is_worn_out() {
    let measure = "[[measure]]\nstep = \"repeat\"\ntimes = 4\nsteps = [\n\
        { step = \"repeat\", until = \"free >= 40 %\", steps = [{ step = \"unlink_oldest\", dir = \"\", name = \"p*\" }] },\n\
        { step = \"create\", file = \"p######\", bytes = \"128 KiB\" },\n{ step = \"sync\" } ]\n";
    let one = lives(&text("ubifs", &format!("max_beb_per1024 = 1\n{AGEING}"), measure), &asked(false)).unwrap();
    let ended = &one.life.ended;
    assert!(matches!(ended.end, End::NoSpareBlocks | End::ReadOnly), "{ended:?}");
    let file = ended.error.as_deref().and_then(|error| error.split("p0").nth(1)).map(|rest| &rest[..5]);
    let number: u64 = file.and_then(|digits| digits.parse().ok()).unwrap_or_default();
    assert!(file.is_none() || number + 8 > (one.life.repetitions - 1) * 4, "{ended:?} {}", one.life.repetitions);
}
