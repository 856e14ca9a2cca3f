//! Programs in C are compiled with the system's compiler and linked with libffslab, as a user does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn include() -> PathBuf {
    repository().join("python/ffslab/foreign/include")
}

/// Where cargo put libffslab.so: beside this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_path_buf()
}

/// A folder of this test alone.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libffslab").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles a program; `more` are further options and files.
fn compiled(source: &Path, to: &Path, more: &[&Path]) -> PathBuf {
    let program = to.join(source.file_stem().unwrap());
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"]).arg(include());
    compiler.arg(source).args(more).arg("-o").arg(&program);
    compiler.arg("-L").arg(libraries()).arg("-lffslab").arg(format!("-Wl,-rpath,{}", libraries().display()));
    let done = compiler.output().expect("cc");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

fn run(program: &Path, arguments: &[&Path]) -> String {
    let done = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {} {said}", program.display(), done.status);
    String::from_utf8(done.stdout).unwrap()
}

/// `tests/foreign/test_libffslab.py` reads its results.
#[test]
fn the_logger_runs_and_writes_its_results() {
    let place = folder("logger");
    let logger = compiled(&repository().join("examples/libffslab/logger.c"), &place, &[]);
    let said = run(&logger, &[&place.join("results")]);
    assert!(said.starts_with("3005 programs, 47 erases; the scan after the power cut: 958 reads, "), "{said}");
    // The results are written over.
    assert_eq!(run(&logger, &[&place.join("results")]), said);
    let page = fs::read_to_string(repository().join("docs/libffslab.md")).unwrap();
    assert!(page.contains(said.trim()), "docs/libffslab.md shows something else than {said}");
}

/// `tests/studies/test_crash_programs.py` cuts its power: as it is right, and with each of its mistakes.
#[test]
fn the_updater_runs_from_its_factory_to_its_check() {
    let source = repository().join("examples/crashtest/updater.c");
    for mistake in 0..=3 {
        let place = folder(&format!("updater/{mistake}"));
        let wrong = format!("-DMISTAKE={mistake}");
        let options = ["-g", "-fno-optimize-sibling-calls", &wrong].map(Path::new);
        let program = compiled(&source, &place, &options);
        let journals = [place.join("factory.journal"), place.join("update.journal")];
        for (what, journal) in ["factory", "update"].into_iter().zip(&journals) {
            let mut command = Command::new(&program);
            command.arg(what).env("FFSLAB_CHIP_KEEP", journal);
            if what == "update" {
                command.env(
                    "FFSLAB_CHIP_FROM",
                    format!("{}:{}:nothing", journals[0].display(), operations(&journals[0]) + 1),
                );
            }
            assert!(command.status().unwrap().success(), "{what}, mistake {mistake}");
        }
        let behind = format!("{}:{}:nothing", journals[1].display(), operations(&journals[1]) + 1);
        let check = Command::new(&program).arg("check").env("FFSLAB_CHIP_FROM", behind).output().unwrap();
        assert!(check.status.success(), "mistake {mistake}: {}", String::from_utf8_lossy(&check.stderr));
    }
}

/// `tests/studies/test_crash_programs.py` runs these, too: mistakes are told to them by a number.
#[test]
fn bootloaders_and_environments_run_from_their_factory_to_their_check() {
    for (name, way) in [("bootloader", "move"), ("environment", "two")] {
        let place = folder(&format!("programs/{name}"));
        let source = repository().join(format!("examples/crashtest/{name}.c"));
        let program = compiled(&source, &place, &["-g", "-fno-optimize-sibling-calls"].map(Path::new));
        let factory = place.join("factory.journal");
        let run = |what: &str| Command::new(&program).args([way, what]).env("FFSLAB_CHIP_KEEP", &factory).status();
        assert!(run("factory").unwrap().success(), "{name}");
        let behind = format!("{}:{}:nothing", factory.display(), operations(&factory) + 1);
        let update = Command::new(&program).args([way, "update"]).env("FFSLAB_CHIP_FROM", behind).output().unwrap();
        assert!(update.status.success(), "{name}: {}", String::from_utf8_lossy(&update.stderr));
    }
}

#[test]
fn power_cuts_are_made_of_one_chip() {
    let place = folder("two-chips");
    let opens = "ffslab_close(ffslab_open(\"board = \\\"omap3evm\\\"\"));";
    let source = place.join("two.c");
    fs::write(&source, format!("#include <ffslab.h>\nint main(void) {{ {opens} {opens} return 0; }}\n")).unwrap();
    let program = compiled(&source, &place, &[]);
    let journal = place.join("journal");
    // Whether the program looks at what it gets or not.
    assert!(Command::new(&program).env("FFSLAB_CHIP_KEEP", &journal).status().unwrap().success());
    let lines = fs::read_to_string(&journal).unwrap();
    assert!(lines.lines().last().unwrap().starts_with("{\"refused\":\"the program opens a second chip"), "{lines}");
}

/// Of a journal: a header, then a line each.
fn operations(journal: &Path) -> usize {
    fs::read_to_string(journal).unwrap().lines().count() - 1
}

#[test]
fn each_function_answers_as_the_header_says() {
    let place = folder("answers");
    let program = compiled(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers.c"), &place, &[]);
    assert_eq!(run(&program, &[&place]), "ok\n");
}

/// The names of functions that stand between two words.
fn functions(text: &str, before: &str) -> Vec<String> {
    let mut names: Vec<String> = text
        .split(before)
        .skip(1)
        .filter_map(|rest| {
            let end = rest.find(|sign: char| sign != '_' && !sign.is_ascii_alphanumeric())?;
            rest[end..].starts_with('(').then(|| rest[..end].to_string())
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn the_header_declares_what_the_library_has() {
    let header = fs::read_to_string(include().join("ffslab.h")).unwrap();
    let declarations: String = header
        .lines()
        .filter(|line| line.ends_with(';') && !line.starts_with([' ', '#', '}']))
        .collect::<Vec<_>>()
        .join("\n");
    let declared: Vec<String> = functions(&declarations, "ffslab_");
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/functions.rs")).unwrap();
    let defined = functions(&source, "extern \"C\" fn ffslab_");
    assert!(declared.len() > 30, "{declared:?}");
    assert_eq!(declared, defined);
    // Values that the library writes down once more.
    let version = source.split("ABI_VERSION: u32 = ").nth(1).unwrap().split(';').next().unwrap();
    assert!(header.contains(&format!("#define FFSLAB_ABI_VERSION {version}\n")));
}

/// A program with the user's own littlefs; `more` are options.
fn with_littlefs(name: &str, place: &Path, more: &[&str]) -> PathBuf {
    let sources = Path::new(littlefs2_sys::SOURCES);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapters").join(name);
    let include = format!("-I{}", sources.display());
    let quiet = ["-DLFS_NO_DEBUG", "-DLFS_NO_WARN", "-DLFS_NO_ERROR", "-Wno-unused-function", "-Wno-unused-parameter"];
    let (lfs, util) = (sources.join("lfs.c"), sources.join("lfs_util.c"));
    let mut all: Vec<&Path> = quiet.iter().chain(more).map(Path::new).collect();
    all.extend([Path::new(&include), &lfs, &util]);
    compiled(&program, place, &all)
}

/// With the header that connects it.
#[test]
fn littlefs_runs_on_a_chip() {
    let place = folder("littlefs");
    assert_eq!(run(&with_littlefs("littlefs.c", &place, &[]), &[]), "ok\n");
}

/// Code without labels, with debugging information, optimised further, and with the symbols alone.
#[test]
fn functions_under_way_are_causes() {
    let place = folder("callers");
    for options in [&["-g"][..], &["-g", "-O2", "-fno-optimize-sibling-calls"], &[]] {
        assert_eq!(run(&with_littlefs("callers.c", &place, options), &[]), "ok\n", "{options:?}");
    }
}

/// A driver of Zephyr. Its headers stand in no registry, so that stubs of the declarations that it needs are compiled with it.
#[test]
fn zephyr_finds_a_flash_driver() {
    let place = folder("zephyr");
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapters");
    let stubs = format!("-I{}", adapters.join("stubs").display());
    let program = compiled(&adapters.join("zephyr_flash.c"), &place, &[Path::new(&stubs)]);
    assert_eq!(run(&program, &[]), "ok\n");
}
