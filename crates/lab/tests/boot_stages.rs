//! A boot in stages: whose code runs, what it reads, and what is lost between two programs.

use ffslab_lab::result::{StepSummary, VariantSummary};
use ffslab_lab::run_experiment;
use std::path::Path;

const SETUP: &str =
    "[[setup]]\nstep = \"mount\"\n[[setup]]\nstep = \"create\"\nfile = \"kernel\"\nbytes = \"256 KiB\"\n\
                     [[setup]]\nstep = \"umount\"\n[[setup]]\nstep = \"ubi_detach\"\n";

fn tried(folder: &Path, stack: &str, setup: &str, measure: &[&str]) -> Result<VariantSummary, String> {
    let measure: String = measure.iter().map(|keys| format!("[[measure]]\n{keys}\n")).collect();
    let text = format!("title = \"t\"\n[stack]\nkernel = \"6.1\"\n{stack}\n{setup}{measure}");
    let run = run_experiment(&text, "boot.toml", folder, &|_| true);
    run.map(|mut run| run.summary.variants.remove(0)).map_err(|error| error.to_string())
}

fn run(stack: &str, setup: &str, measure: &[&str]) -> VariantSummary {
    tried(Path::new("."), stack, setup, measure).unwrap_or_else(|error| panic!("{error}"))
}

const SPI_NAND: &str =
    "board = \"luckfox-pico-max\"\nfs = \"ubifs\"\npartition_blocks = 100\nmax_beb_per1024 = 1\nfirst_block = 16";
const U_BOOT: &str = "step = \"stage\"\nname = \"U-Boot\"\nruns = \"u-boot\"";
const KERNEL: &str = "step = \"stage\"\nname = \"kernel\"";
const ATTACH: &str = "step = \"ubi_attach\"";
const MOUNT: &str = "step = \"mount\"";
const LOAD: &str = "step = \"read_files\"\nfiles = [\"kernel\"]";

fn reads(step: &StepSummary) -> u64 {
    step.counts.page_reads + step.counts.oob_reads
}

/// Each program attaches for itself, and the one that loads a file finds nothing of it in memory.
#[test]
fn what_a_boot_loader_has_in_memory_is_gone_when_the_kernel_starts() {
    let booted = run(SPI_NAND, SETUP, &[U_BOOT, ATTACH, MOUNT, LOAD, KERNEL, ATTACH, MOUNT, LOAD]);
    let stages: Vec<&str> = booted.steps.iter().map(|step| step.stage.as_deref().unwrap_or_default()).collect();
    assert_eq!(stages, ["U-Boot", "U-Boot", "U-Boot", "U-Boot", "kernel", "kernel", "kernel", "kernel"]);
    let steps: Vec<u64> = booted.steps.iter().map(reads).collect();
    // The mark, and the headers of each block.
    assert!(steps[1] >= 300 && steps[1] == steps[5], "{steps:?}");
    // Without read-ahead no page of a node is read for another one's sake.
    assert!(steps[3] >= 128 && steps[7] >= 128, "{steps:?}");
    assert_eq!(booted.totals.page_programs - programs(&booted.steps[4..]), 0, "a boot loader mounts read-only");
}

fn programs(steps: &[StepSummary]) -> u64 {
    steps.iter().map(|step| step.counts.page_programs).sum()
}

/// `[u_boot]` of a board's profile: its code takes four times as long, and its bus has one line.
#[test]
fn stages_of_a_boot_loader_take_what_the_board_says() {
    let folder = std::env::temp_dir().join(format!("ffslab-boot-stages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let says = |value: &str| format!("{{ value = {value}, source = \"a test\", status = \"unverified\" }}");
    let keys = format!("cpu_time_scale = {}\nread_lines = {}\n", says("4"), says("1"));
    let title = "title = \"t\"\nbase = \"luckfox-pico-max\"\npart = \"w25n01gv\"\n";
    std::fs::write(folder.join("slow.toml"), format!("{title}[u_boot]\n{keys}")).unwrap();
    std::fs::write(folder.join("wrong.toml"), format!("{title}[u_boot]\nread_lines = {}\n", says("3"))).unwrap();
    let on = |board: &str| SPI_NAND.replace("luckfox-pico-max", board);
    let measure = [U_BOOT, ATTACH, MOUNT, LOAD, KERNEL, ATTACH];
    let (usual, slow) = (
        run(SPI_NAND, SETUP, &measure),
        tried(&folder, &on("./slow.toml"), SETUP, &measure).unwrap_or_else(|error| panic!("{error}")),
    );
    let wrong = tried(&folder, &on("./wrong.toml"), SETUP, &measure).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(usual.totals.page_reads, slow.totals.page_reads);
    // Pages of 2 KiB at 75 MHz take 0.2 ms over one line, and 0.05 over four.
    let per_page_us = (slow.steps[1].elapsed_us - usual.steps[1].elapsed_us) / 200.0;
    assert!((120.0..400.0).contains(&per_page_us), "{per_page_us} us");
    assert!(slow.steps[3].elapsed_us > usual.steps[3].elapsed_us * 1.5);
    assert_eq!(slow.steps[5].elapsed_us, usual.steps[5].elapsed_us, "the kernel's stages are the kernel's");
    let unknown = |variant: &VariantSummary| variant.notes.iter().any(|note| note.contains("[u_boot] cpu_time_scale"));
    assert!(unknown(&usual) && !unknown(&slow));
    assert!(wrong.contains("u_boot.read_lines = 3") && !wrong.trim_end().contains('\n'), "{wrong}");
}

/// A UBI that does not know the fastmap erases it, and the kernel has to scan.
#[test]
fn a_boot_loader_without_fastmap_costs_the_kernel_its_own() {
    let stack = SPI_NAND.replace("partition_blocks = 100", "partition_blocks = 400")
        + "\nfastmap = true\nfm_autoconvert = true";
    let booted = |stage: &str| run(&stack, SETUP, &[stage, ATTACH, KERNEL, ATTACH]);
    let (knows, lacks) = (booted(U_BOOT), booted(&format!("{U_BOOT}\nfastmap = false")));
    let attaches = |variant: &VariantSummary| [reads(&variant.steps[1]), reads(&variant.steps[3])];
    let (knows, erased, lacks) = (attaches(&knows), lacks.steps[1].counts.erases, attaches(&lacks));
    assert!(knows[0] < 600 && knows[0] == knows[1], "{knows:?}");
    assert!(erased >= 1 && lacks[0] >= 1_200 && lacks[1] >= 1_200, "{lacks:?}, {erased} erases");
}

#[test]
fn raw_pages_are_read_over_bad_blocks() {
    let stack =
        "board = \"omap3evm\"\nfs = \"jffs2\"\nfirst_block = 8\npartition_blocks = 20\n[stack.faults]\nbadblocks = [1]";
    let raw = |first: u32, bytes: &str| format!("step = \"read_raw\"\nfirst_block = {first}\nbytes = \"{bytes}\"");
    let read = run(stack, "", &[&raw(0, "200 KiB")]);
    assert_eq!((read.totals.page_reads, read.user_read_bytes), (100, 200 << 10));
    let refused = |step: &str| tried(Path::new("."), stack, "", &[step]).unwrap_err();
    assert!(refused(&raw(1 << 20, "1 KiB")).contains("erase blocks, the first is 0"));
    assert!(refused(&raw(1, "10 GiB")).contains("the good blocks from 1 on hold"));
}

#[test]
fn what_no_boot_does_is_said() {
    let refused = |stack: &str, measure: &[&str]| {
        let text = tried(Path::new("."), stack, "[[setup]]\nstep = \"mount\"\n", measure).unwrap_err();
        assert!(!text.trim_end().contains('\n'), "{text}");
        text
    };
    let volume = "step = \"ubi_read\"\nvolume = \"kernel\"";
    assert!(refused(SPI_NAND, &[U_BOOT, volume]).contains("ubi_attach must come before"));
    assert!(refused(SPI_NAND, &[U_BOOT, ATTACH, volume]).contains("there is no volume \"kernel\": UBI has \"v\""));
    let jffs2 = "board = \"omap3evm\"\nfs = \"jffs2\"\npartition_blocks = 60";
    assert!(refused(jffs2, &[U_BOOT, MOUNT]).contains("only UBIFS is simulated, not jffs2"));
    let spl = "step = \"stage\"\nname = \"SPL\"\nruns = \"spl\"";
    assert!(refused(jffs2, &[spl, MOUNT]).contains("read_raw"));
    assert!(refused(jffs2, &["step = \"stage\"\nname = \"kernel\"\nfastmap = true"]).contains("a key of [stack]"));
    let rtems = "system = \"rtems\"\nboard = \"beaglebone-black\"\nfs = \"rfs\"";
    let text = "title = \"t\"\n[stack]\n".to_string() + rtems + "\n[[setup]]\nstep = \"mount\"\n[[measure]]\n" + KERNEL;
    let error = run_experiment(&text, "boot.toml", Path::new("."), &|_| true).unwrap_err().to_string();
    assert!(error.contains("boot of several stages"), "{error}");
}
