//! Steps and options that not every file system knows: extended attributes, bulk-read, flags of renameat2(2), files
//! without names, read-only mounts.

use ffslab_lab::{run_experiment, LabError, RunResult};
use std::path::Path;

const TMPFILE: &str = "step = 'open'\nfile = 'd/t'\nflags = ['wronly', 'tmpfile']";

/// An experiment on `fs` whose measured steps are the tables of `steps`.
fn run(fs: &str, steps: &[&str]) -> Result<RunResult, LabError> {
    let mut text = format!(
        "title = 'Extras'\n[stack]\nboard = 'zero-overhead'\nfs = '{fs}'\npartition_blocks = 160\n\
         [[setup]]\nstep = 'mount'\n[[setup]]\nstep = 'create'\nfile = 'f'\nbytes = 5000\n"
    );
    for step in steps {
        text += &format!("[[measure]]\n{step}\n");
    }
    run_experiment(&text, "extras.toml", Path::new("."), &|_| true)
}

#[track_caller]
fn refused(fs: &str, steps: &[&str], says: &str) {
    match run(fs, steps) {
        Err(LabError::Input(line)) => assert!(line.contains(says), "{line}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the experiment ran"),
    }
}

#[test]
fn extended_attributes_are_set_read_and_removed() {
    let steps = [
        "step = 'setxattr'\nfile = 'f'\nname = 'user.comment'\nvalue = 'a short text'",
        "step = 'setxattr'\nfile = 'f'\nname = 'user.comment'\nbytes = '3 KiB'\nflag = 'replace'",
        "step = 'setxattr'\nfile = 'f'\nname = 'user.comment'\nvalue = 'x'\nflag = 'create'\nfails = 'EEXIST'",
        "step = 'setxattr'\nfile = ''\nname = 'trusted.of the root'\nbytes = '5 KiB'\nfails = 'ERANGE'",
        "step = 'fsync'\nfile = 'f'",
        "step = 'getxattr'\nfile = 'f'\nname = 'user.comment'",
        "step = 'listxattr'\nfile = 'f'",
        "step = 'removexattr'\nfile = 'f'\nname = 'user.comment'",
        "step = 'getxattr'\nfile = 'f'\nname = 'user.comment'\nfails = 'ENODATA'",
    ];
    let open = "step = 'open'\nfile = 'f'\nflags = ['rdwr']";
    let result = run("ubifs", &[&[open], &steps[..]].concat()).unwrap();
    let variant = &result.summary.variants[0];
    assert_eq!((variant.user_written_bytes, variant.user_read_bytes), (12 + 3072, 3072));
    // The file's dirty data, 5000 bytes, and 3 KiB of value, each with their nodes: 5 or 6 pages.
    assert!((5..=6).contains(&variant.steps[5].counts.page_programs), "{:?}", variant.steps[5].counts);
}

#[test]
fn bulk_read_is_a_key_of_the_stack_to_vary_and_a_mount_option() {
    let text = "title = 'Bulk-read'\n[stack]\nboard = 'zero-overhead'\nfs = 'ubifs'\npartition_blocks = 160\n\
                [[setup]]\nstep = 'mount'\n[[setup]]\nstep = 'create'\nfile = 'a'\nbytes = '1 MiB'\n\
                [[setup]]\nstep = 'sync'\n[[setup]]\nstep = 'drop_caches'\n\
                [[measure]]\nstep = 'open'\nfile = 'a'\nflags = ['rdonly']\n\
                [[measure]]\nstep = 'requests'\nfile = 'a'\nop = 'read'\npattern = 'sequential'\nrequest_B = 4096\n\
                count = 256\n[axes]\nbulk_read = [false, true]\n";
    let result = run_experiment(text, "bulk.toml", Path::new("."), &|_| true).unwrap();
    let [off, on] = &result.summary.variants[..] else { panic!("two variants") };
    // The driver remembers the page that it read last, so node after node costs little more than a whole LEB at once: only
    // index nodes that are read in between, one for 8 data nodes and those above, make it forget. But a request waits
    // for up to 31 nodes, or for none.
    let page_reads = [off, on].map(|variant| variant.steps[1].counts.page_reads as f64);
    let data_pages = 256.0 * 4144.0 / 2048.0;
    assert!((data_pages..data_pages + 40.0).contains(&page_reads[1]), "{page_reads:?}");
    assert!((page_reads[1] + 32.0..page_reads[1] + 64.0).contains(&page_reads[0]), "{page_reads:?}");
    let [max_off, max_on] = [off, on].map(|variant| variant.latency_us.max.unwrap());
    let [p50_off, p50_on] = [off, on].map(|variant| variant.latency_us.p50.unwrap());
    assert!(max_on > 10.0 * max_off && p50_on < p50_off / 10.0, "{max_off} {max_on} {p50_off} {p50_on}");

    let mount = |option: &str| format!("step = 'umount'\n[[measure]]\nstep = 'mount'\noptions = ['{option}']");
    run("ubifs", &[&mount("bulk_read")]).unwrap();
    refused("ubifs", &[&mount("bulkread")], "unknown mount option \"bulkread\": ubifs has bulk_read");
}

#[test]
fn a_file_system_without_extended_attributes_says_so() {
    let set = "step = 'setxattr'\nfile = 'f'\nname = 'user.a'\nvalue = 'v'";
    refused("yaffs2", &[set], "measure step 1 (setxattr \"f\"): ENOTSUP");
    run("yaffs2", &[&format!("{set}\nfails = 'ENOTSUP'"), "step = 'listxattr'\nfile = 'f'"]).unwrap();
    run("jffs2", &[set, "step = 'getxattr'\nfile = 'f'\nname = 'user.a'"]).unwrap();
}

#[test]
fn names_are_exchanged_covered_and_given_late() {
    let steps = [
        "step = 'mkdir'\ndir = 'd'",
        TMPFILE,
        "step = 'append'\nfile = 'd/t'\nrequest_B = 4096\ncount = 2",
        "step = 'readdir'\ndir = 'd'",
        "step = 'stat'\nfile = 'd/t'\nfails = 'ENOENT'",
        "step = 'link'\nfile = 'd/t'\nto = 'd/done'",
        "step = 'link'\nfile = 'd/t'\nto = 'd/done'\nfails = 'EEXIST'",
        "step = 'close'\nfile = 'd/t'",
        "step = 'link'\nfile = 'd/done'\nto = 'again'",
        "step = 'rename'\nfile = 'f'\nto = 'again'\nflags = ['noreplace']\nfails = 'EEXIST'",
        "step = 'rename'\nfile = 'f'\nto = 'd'\nflags = ['exchange']",
        "step = 'open'\nfile = 'd/done'\nflags = ['rdonly']\nfails = 'ENOTDIR'",
        "step = 'rename'\nfile = 'f/done'\nto = 'moved'\nflags = ['whiteout']",
        "step = 'open'\nfile = 'f/done'\nflags = ['rdonly']\nfails = 'ENXIO'",
    ];
    run("ubifs", &steps).unwrap();
}

#[test]
fn what_a_file_system_does_not_know_ends_as_on_linux() {
    for fs in ["jffs2", "yaffs2"] {
        let rename = |flag: &str| format!("step = 'rename'\nfile = 'f'\nto = 'g'\nflags = ['{flag}']");
        run(fs, &[&rename("noreplace")]).unwrap();
        refused(fs, &[&rename("whiteout")], "EINVAL");
        run(fs, &["step = 'mkdir'\ndir = 'd'", &format!("{TMPFILE}\nfails = 'ENOTSUP'")]).unwrap();
    }
    refused("ubifs", &["step = 'open'\nfile = 't'\nflags = ['rdonly', 'tmpfile']"], "neither create nor rdonly");
}

#[test]
fn a_read_only_mount_refuses_changes_until_it_is_remounted() {
    for fs in ["jffs2", "yaffs2", "ubifs"] {
        let mount = |options: &str| format!("step = 'mount'\noptions = [{options}]");
        let create = |fails: &str| format!("step = 'open'\nfile = 'new'\nflags = ['wronly', 'create']{fails}");
        let steps = [
            "step = 'umount'".to_string(),
            // Erases that are left over from before.
            "step = 'sleep'\nus = '60 s'".to_string(),
            mount("'ro'"),
            create("\nfails = 'EROFS'"),
            "step = 'rename'\nfile = 'f'\nto = 'g'\nfails = 'EROFS'".to_string(),
            "step = 'sync'".to_string(),
            "step = 'sleep'\nus = '60 s'".to_string(),
            "step = 'umount'".to_string(),
            mount("'ro'"),
            mount("'remount', 'rw'"),
            create(""),
            "step = 'close'\nfile = 'new'".to_string(),
            mount("'remount', 'ro'"),
            "step = 'unlink'\nfile = 'new'".to_string(),
        ];
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        refused(fs, &steps, "(unlink \"new\"): EROFS");
        let result = run(fs, &steps[..steps.len() - 1]).unwrap();
        let variant = &result.summary.variants[0];
        let written: u64 = variant.steps[2..8].iter().map(|step| step.counts.page_programs + step.counts.erases).sum();
        assert_eq!(written, 0, "{fs} writes while it is mounted read-only");
        assert!(variant.steps[9..].iter().any(|step| step.counts.page_programs > 0), "{fs} wrote nothing after it");
        refused(fs, &[&mount("'ro'")], "mounted already");
        refused(fs, &[&mount("'remount', 'nonsense'")], "a remount changes only the generic options");
        refused(fs, &["step = 'open'\nfile = 'f'\nflags = ['wronly']", &mount("'remount', 'ro'")], "EBUSY");
    }
}
