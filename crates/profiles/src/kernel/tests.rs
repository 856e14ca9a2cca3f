use super::table::Linux;
use super::LINUX;
use crate::built_in::Kind;
use crate::keys::keys_of;
use crate::part::PartKind;
use crate::{show, Profile, ProfileError};
use ffslab_sim::{ChipLock, TimerWheel};
use std::path::Path;

const TABLE: &str = include_str!("../../../../profiles/kernels.toml");

fn load(kernel: &str) -> Result<Profile, ProfileError> {
    Profile::load("zero-overhead", None, Some(kernel), Path::new(""))
}

/// What the profile of a version says of a key.
fn value(linux: &Linux, version: &str, key: &str) -> toml::Value {
    let table: toml::Table = linux.profile(version).unwrap().parse().unwrap();
    table[key]["value"].clone()
}

#[test]
fn the_table_is_in_order_and_knows_every_key_and_no_other() {
    assert_eq!(LINUX.faults_of_order(), Vec::<String>::new());
    let names: Vec<String> = keys_of(Kind::Kernel, PartKind::default()).iter().map(|key| key.path.clone()).collect();
    let mut ruled: Vec<&str> = LINUX.keys().collect();
    assert!(ruled.iter().all(|key| names.iter().any(|name| name == key)), "{ruled:?}");
    ruled.extend(["title", "base"]);
    let unruled: Vec<&String> = names.iter().filter(|name| !ruled.contains(&name.as_str())).collect();
    assert!(unruled.is_empty(), "keys of kernels without a rule: {unruled:?}");
}

#[test]
fn a_new_version_is_one_row_of_the_table() {
    let before = "    # What differs from 6.1 in JFFS2";
    let with_row = TABLE.replacen(before, &format!("    {{ version = \"5.6\" }},\n{before}"), 1);
    let linux = Linux::parse(&with_row).unwrap();
    assert!(linux.names().contains(&"5.6".to_string()) && linux.note("5.6").is_none() && LINUX.note("5.6").is_some());
    assert_eq!(linux.profile("5.6"), LINUX.profile("5.6"), "a row changes no rule");
    for (key, says) in
        [("chip_lock", "mutex"), ("mlc_rules", "4.17"), ("shrink_rules", "3.12"), ("timer_wheel", "levels")]
    {
        assert_eq!(value(&linux, "5.6", key).as_str(), Some(says), "{key}");
    }
}

#[test]
fn each_rule_begins_with_the_version_that_brought_it() {
    let boundaries = [
        ("timer_wheel", "4.7", "4.8"),
        ("lzo_release", "3.8", "3.9"),
        ("ubi_reserve_of", "3.6", "3.7"),
        ("ubi_flushes_all_works", "3.4", "3.5"),
        ("read_ahead_rules", "5.11", "5.12"),
        ("spi_nand_rules", "6.11", "6.12"),
        ("jffs2_gap_bug", "5.19", "6.3"),
    ];
    for (key, before, after) in boundaries {
        assert_ne!(value(&LINUX, before, key), value(&LINUX, after, key), "{key}");
    }
    let old = load("3.6").unwrap();
    assert_eq!((old.kernel().timer_wheel, old.kernel().chip_lock), (TimerWheel::Exact, ChipLock::Queue));
    assert_eq!(load("4.8").unwrap().kernel().timer_wheel, TimerWheel::Levels);
}

/// The stable series that lived on have what later versions mended, those that had ended do not.
#[test]
fn a_stable_series_has_what_it_took_over() {
    let has_gap_bug = |kernel| load(kernel).unwrap().flash_rules().jffs2_gap_bug;
    assert_eq!(
        ["4.18", "4.19", "5.8", "5.10", "6.0", "6.1", "6.12"].map(has_gap_bug),
        [true, false, true, false, true, false, false]
    );
    let shown = show("5.10").unwrap();
    let faults = shown.faults.unwrap();
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    assert_eq!((fault.present, fault.mended_in.as_deref()), (false, Some("6.3")));
    assert!(fault.fault.starts_with("JFFS2: ") && fault.source.contains("23892d383bee"), "{fault:?}");
    assert!(show("5.8").unwrap().faults.unwrap()[0].present);
    assert_eq!(show("6.12").unwrap().faults, Some(Vec::new()));
    let gap = shown.values.iter().find(|one| one.key == "jffs2_gap_bug").unwrap();
    assert_eq!(gap.since.as_deref(), Some("5.10, stable releases"));
}

#[test]
fn a_version_between_two_listed_ones_says_so_and_what_nobody_knows_of_it() {
    assert_eq!(LINUX.note("6.6"), None);
    let note = LINUX.note("6.8").unwrap();
    assert_eq!(
        note,
        "Linux 6.8 is not among the listed kernels: it has the rules of 6.6 and what changed until then (`ffslab profiles show 6.8`)."
    );
    let note = LINUX.note("3.18").unwrap();
    assert!(
        note.contains("when these changed between 2.6.37 and 4.19 is not known, so they are those of 2.6.37: "),
        "{note}"
    );
    assert!(note.contains("write_back_rules") && !note.contains("timer_wheel"), "{note}");
    let shown = show("3.18").unwrap();
    let status = |key: &str| shown.values.iter().find(|one| one.key == key).unwrap().status;
    assert_eq!(
        (status("write_back_rules"), status("timer_wheel")),
        (crate::Status::Unverified, crate::Status::Published)
    );
    assert_eq!(LINUX.note("6.1.192").unwrap(), "6.1.192 is taken for the last stable release of 6.1.");
    assert_eq!(load("6.6.30").unwrap().kernel_series(), "6.6");
}

#[test]
fn a_version_out_of_range_is_refused() {
    for (name, says) in [
        ("2.6.32", "it is older than 2.6.37, the oldest one whose rules are known; did you mean `2.6.37`?"),
        ("7.1", "it is newer than 6.12, the newest one whose rules are known; did you mean `6.12`?"),
        ("4.25", "unknown kernel `4.25`: did you mean "),
    ] {
        let message = load(name).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
}
