//! What is the workload and what is not: a new partition is made usable before anything is measured, unless an experiment says
//! that it is fresh, and each call of the measured steps is one of the requests.

use ffslab_lab::result::VariantSummary;
use ffslab_lab::{run_experiment, RunResult, Session};
use std::path::Path;

fn result(text: &str) -> RunResult {
    run_experiment(text, "e.toml", Path::new("."), &|_| true).unwrap()
}

fn variant(text: &str) -> VariantSummary {
    result(text).summary.variants.remove(0)
}

fn head(fs: &str, top: &str) -> String {
    format!(
        "title = \"t\"\n{top}\n[stack]\nboard = \"omap3evm\"\nfs = \"{fs}\"\npartition_blocks = 160\nkernel = \"6.1\"\ncompression = \"none\"\n"
    )
}

const MOUNT: &str = "[[setup]]\nstep = \"mount\"\n";
const WORK: &str = "[[measure]]\nstep = \"create\"\nfile = \"a\"\nbytes = \"1 MiB\"\n[[measure]]\nstep = \"sleep\"\n\
                    us = \"120 s\"\n";

#[test]
fn a_new_partition_is_made_usable_before_the_measurement_unless_it_is_fresh() {
    // So many that most wait until the mount has ended.
    let head = |fs, top| head(fs, top).replace("partition_blocks = 160", "partition_blocks = 640");
    for fs in ["ubifs", "jffs2"] {
        let fresh = variant(&(head(fs, "initial = \"fresh\"") + MOUNT + WORK));
        assert!(fresh.formatting.as_ref().is_some_and(|made| made.erases > 50), "{fs}: {:?}", fresh.formatting);
        let settled = variant(&(head(fs, "") + MOUNT + WORK));
        assert!(settled.formatting.is_none(), "{fs}: {:?}", settled.formatting);
        let said = variant(&(head(fs, "initial = \"settled\"") + MOUNT + WORK));
        let did = |variant: &VariantSummary| (variant.totals.page_programs, variant.totals.erases, variant.time_us);
        assert_eq!(did(&said), did(&settled), "{fs}");
    }
}

#[test]
fn data_that_the_setup_leaves_are_not_written_back_while_a_partition_settles() {
    let left = |top: &str| {
        let dirty = "[[setup]]\nstep = \"create\"\nfile = \"b\"\nbytes = \"512 KiB\"\n";
        let variant = variant(&(head("ubifs", top) + MOUNT + dirty + WORK));
        variant.of_setup.map(|of| of.pages)
    };
    assert_eq!(left(""), left("initial = \"fresh\""));
    assert_eq!(left(""), Some(128));
}

#[test]
fn a_first_mount_that_is_measured_is_that_of_a_partition_in_use() {
    let mount = "[[measure]]\nstep = \"mount\"\n[[measure]]\nstep = \"sleep\"\nus = \"120 s\"\n";
    for fs in ["ubifs", "jffs2"] {
        let settled = variant(&(head(fs, "") + mount));
        assert!(settled.formatting.is_none() && settled.totals.erases == 0, "{fs}: {:?}", settled.formatting);
        assert!(variant(&(head(fs, "initial = \"fresh\"") + mount)).formatting.is_some(), "{fs}");
    }
}

#[test]
fn a_session_is_settled_behind_its_first_mount_and_before_one_that_is_measured() {
    for fs in ["ubifs", "jffs2"] {
        let keys = format!("board = \"omap3evm\"\nfs = \"{fs}\"\npartition_blocks = 400\nkernel = \"6.1\"\n");
        let begun = |initial: &str| {
            let mut session = Session::new(toml::from_str(&keys).unwrap(), 1, Path::new(".")).unwrap();
            session.begins(initial).unwrap();
            session
        };
        let waiting = |session: &Session| session.system().blocks_to_format();
        let mut fresh = begun("fresh");
        fresh.settle(&[]).unwrap();
        fresh.mount(&[]).unwrap();
        assert!(waiting(&fresh) > 0, "{fs}");
        let mut settled = begun("settled");
        settled.mount(&[]).unwrap();
        assert_eq!(waiting(&settled), 0, "{fs}");
        // What a later mount finds is not waited for: a power cut is looked at as it is.
        let now_ns = settled.system().now_ns();
        settled.crash().unwrap();
        settled.mount(&[]).unwrap();
        assert!(settled.system().now_ns() - now_ns < 1_000_000_000, "{fs}");

        let mut measured = begun("settled");
        measured.settle(&[]).unwrap();
        assert!(!measured.system().is_mounted() && waiting(&measured) == 0, "{fs}");
        measured.begin_step("mount");
        measured.mount(&[]).unwrap();
        let result = measured.result("base", "{}").unwrap();
        assert_eq!(result.summary.totals.erases, 0, "{fs}");
    }
    let keys = "board = \"omap3evm\"\nfs = \"ubifs\"\npartition_blocks = 100\n";
    let error = Session::new(toml::from_str(keys).unwrap(), 1, Path::new(".")).unwrap().begins("filled 60 %");
    assert!(error.unwrap_err().to_string().contains("must be \"settled\""));
}

#[test]
fn a_step_that_is_one_call_is_one_of_the_requests() {
    let steps = "[[measure]]\nstep = \"mkdir\"\ndir = \"d\"\n\
                 [[measure]]\nstep = \"open\"\nfile = \"d/a\"\nflags = [\"rdwr\", \"create\"]\n\
                 [[measure]]\nstep = \"requests\"\nfile = \"d/a\"\nop = \"write\"\npattern = \"sequential\"\n\
                 request_B = \"4 KiB\"\nrange_B = \"256 KiB\"\ncount = 64\n\
                 [[measure]]\nstep = \"fsync\"\nfile = \"d/a\"\n\
                 [[measure]]\nstep = \"close\"\nfile = \"d/a\"\n\
                 [[measure]]\nstep = \"rename\"\nfile = \"d/a\"\nto = \"d/b\"\n\
                 [[measure]]\nstep = \"truncate\"\nfile = \"d/b\"\nbytes = 100\n\
                 [[measure]]\nstep = \"sync\"\n\
                 [[measure]]\nstep = \"unlink\"\nfile = \"d/b\"\n";
    let all = result(&(head("ubifs", "") + MOUNT + steps));
    let variant = &all.summary.variants[0];
    let ops: Vec<&str> = variant.slowest.iter().map(|call| call.op).collect();
    // The writes only reach the page cache; the step that brings them to flash is what takes time.
    assert_eq!((ops[0], &variant.slowest[0].file[..]), ("sync", "d/a"), "{ops:?}");
    assert_eq!(variant.latency_us.n, 64 + 8);
    let max = variant.latency_us.max.unwrap();
    let elapsed = variant.steps[3].elapsed_us;
    assert!(max > 10_000.0 && (max / elapsed - 1.0).abs() < 0.01, "{max} {elapsed}");
    for op in ["mkdir", "open", "close", "rename", "truncate"] {
        assert!(ops.contains(&op) || variant.slowest.len() == 10, "{op}: {ops:?}");
    }
}

#[test]
fn a_file_that_is_made_is_as_many_requests_as_calls() {
    let made = "[[measure]]\nstep = \"create\"\nfile = \"a\"\nbytes = \"256 KiB\"\nrequest_B = \"64 KiB\"\n";
    // open, four writes, close.
    assert_eq!(variant(&(head("jffs2", "") + MOUNT + made)).latency_us.n, 6);
}
