//! The step `boot`: from power on to mounted, on every system and file system, after a clean end and after a power cut.

use ffslab_lab::result::VariantSummary;
use ffslab_lab::run_experiment;
use std::path::Path;

/// The stacks that boot: of Linux, of RTEMS and of a program without either.
const STACKS: &[&str] = &[
    "board = \"omap3evm\"\nfs = \"jffs2\"\npartition_blocks = 100",
    "board = \"omap3evm\"\nfs = \"yaffs2\"\npartition_blocks = 100",
    "board = \"omap3evm\"\nfs = \"ubifs\"\npartition_blocks = 100",
    "system = \"bare\"\nboard = \"omap3evm\"\nfs = \"yaffs2\"\npartition_blocks = 100",
    "system = \"rtems\"\nboard = \"beaglebone-black\"\nfs = \"rfs\"",
    "system = \"rtems\"\nboard = \"beaglebone-black\"\nfs = \"jffs2\"",
];

/// A file is made and unmounted, a second one made; then what `end` says, and the boot is measured.
fn boots(stack: &str, end: &str, more: &str) -> VariantSummary {
    let create = |file: &str| format!("[[setup]]\nstep = \"create\"\nfile = \"{file}\"\nbytes = \"96 KiB\"\n");
    let mount = "[[setup]]\nstep = \"mount\"\n";
    let setup = [mount, &create("old"), UMOUNT, mount, &create("new"), end].concat();
    let text = format!("title = \"t\"\n[stack]\n{stack}\n{setup}[[measure]]\nstep = \"boot\"\n{more}");
    let run = run_experiment(&text, "boot.toml", Path::new("."), &|_| true);
    run.unwrap_or_else(|error| panic!("{error:?}\n{text}")).summary.variants.remove(0)
}

const UMOUNT: &str = "[[setup]]\nstep = \"umount\"\n";
const OLD_IS_THERE: &str = "[[measure]]\nstep = \"stat\"\nfile = \"old\"\n";

#[test]
fn every_stack_boots_after_a_clean_end_and_after_a_cut() {
    for stack in STACKS {
        for end in [UMOUNT, ""] {
            let booted = boots(stack, end, OLD_IS_THERE);
            assert!(booted.steps[0].elapsed_us > 0.0, "{stack}");
        }
    }
}

/// A mount after `umount` finds UBI attached; a boot attaches it, which reads each erase block's headers.
#[test]
fn a_boot_attaches_ubi_again() {
    let mounted = |step: &str| {
        let text = format!(
            "title = \"t\"\n[stack]\n{}\n[[setup]]\nstep = \"mount\"\n[[setup]]\nstep = \"umount\"\n[[measure]]\nstep = \"{step}\"\n",
            STACKS[2]
        );
        let run = run_experiment(&text, "boot.toml", Path::new("."), &|_| true).unwrap();
        run.summary.variants[0].totals.page_reads
    };
    let (mount, boot) = (mounted("mount"), mounted("boot"));
    assert!(boot >= mount + 100, "boot reads {boot} pages, mount {mount}");
}

/// UBIFS replays its journal and writes what it recovers.
#[test]
fn after_a_cut_ubifs_recovers() {
    let (clean, cut) = (boots(STACKS[2], UMOUNT, ""), boots(STACKS[2], "", ""));
    assert!(
        cut.totals.page_programs > clean.totals.page_programs,
        "{} {}",
        cut.totals.page_programs,
        clean.totals.page_programs
    );
}

#[test]
fn a_boot_takes_the_options_of_a_mount() {
    let text = format!(
        "title = \"t\"\n[stack]\n{}\n[[setup]]\nstep = \"mount\"\n[[setup]]\nstep = \"umount\"\n[[measure]]\nstep = \"boot\"\n\
         options = [\"ro\"]\n[[measure]]\nstep = \"open\"\nfile = \"f\"\nflags = [\"wronly\", \"create\"]\nfails = \"EROFS\"\n",
        STACKS[0]
    );
    run_experiment(&text, "boot.toml", Path::new("."), &|_| true).unwrap();
}
