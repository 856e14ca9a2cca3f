//! The power goes away at each program and erase of a workload: what a translation leaves of FAT.
//!
//! FAT promises nothing there, so that these are no promises but what was found: after the cut the volume is mounted, old files are read, and a new
//! one is written. Nothing may end the process or go on without an end; what is lost is counted.

use crate::support;

use ffslab_bare::paths::PathProgram;
use ffslab_conformance::on::{Kind, SPI_NAND};
use ffslab_fat::Config;
use ffslab_flash::Torn;
use ffslab_foreign::Translation;
use ffslab_mtd::Mtd;
use ffslab_system::{Answer, Calls, OpenFlags, System};
use support::{direct, medium, page_map, program_on, LEVELLED, SMALL_BLOCKS};

const OLD: [(&str, usize); 4] = [("/a", 300), ("/b", 9_000), ("/d/c", 5_000), ("/d/e", 20)];

fn bytes(seed: usize, count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 31 + seed * 7 + at / 251) as u8).collect()
}

fn put(program: &mut PathProgram, path: &str, truncate: bool, data: &[u8]) -> Answer<()> {
    let flags = OpenFlags { create: true, truncate, append: !truncate, ..OpenFlags::READ_WRITE };
    let fd = program.open(path.as_bytes(), flags, 0o644)?;
    let written = program.write(fd, data).and_then(|_| program.fsync(fd));
    written.and(program.close(fd))
}

/// Files of their own, made, appended to, removed and moved.
fn work(program: &mut PathProgram) -> Answer<()> {
    for round in 0..3 {
        put(program, "/log", false, &bytes(round, 3_000))?;
        put(program, "/d/new", true, &bytes(round, 6_000))?;
        program.rename(b"/d/new", b"/moved")?;
        program.unlink(b"/moved")?;
    }
    program.mkdir(b"/f", 0o755)?;
    put(program, "/f/x", true, &bytes(9, 100))
}

fn get(program: &mut PathProgram, path: &str, count: usize) -> Answer<Vec<u8>> {
    let fd = program.open(path.as_bytes(), OpenFlags::READ, 0)?;
    let mut data = vec![0; count + 1];
    let read = program.pread(fd, &mut data, 0);
    program.close(fd)?;
    data.truncate(read?);
    Ok(data)
}

/// Cuts, and those after which the volume, or one of the old files, is lost.
fn cut_everywhere((kind, blocks): (Kind, u32), of: fn(&Mtd) -> Translation, step: usize) -> (u32, u32) {
    let config = Config::default();
    let chip = medium(kind, blocks);
    let mut program = program_on(chip.clone(), of(&chip), config);
    program.mount(&[]).unwrap();
    program.mkdir(b"/d", 0o755).unwrap();
    for (seed, (path, count)) in OLD.iter().enumerate() {
        put(&mut program, path, true, &bytes(seed, *count)).unwrap();
    }
    program.umount().unwrap();
    let (start, before) = (chip.snapshot(), chip.modifying_operations());
    program.mount(&[]).unwrap();
    work(&mut program).unwrap();
    let operations = chip.modifying_operations() - before;
    let (mut cuts, mut lost) = (0, 0);
    for (number, k) in (1..=operations).step_by(step).enumerate() {
        let torn = [Torn::Nothing, Torn::Partial { seed: k }, Torn::Complete][number % 3];
        let chip = medium(kind, blocks);
        chip.restore(&start).unwrap();
        let mut program = program_on(chip.clone(), of(&chip), config);
        program.mount(&[]).unwrap();
        chip.cut_power_after(k, torn);
        work(&mut program).expect_err("the power is cut before its end");
        program.crash().unwrap();
        cuts += 1;
        let all = |program: &mut PathProgram| {
            OLD.iter().enumerate().all(|(seed, (path, count))| get(program, path, *count) == Ok(bytes(seed, *count)))
        };
        let is_there = program.mount(&[]).is_ok() && all(&mut program);
        lost += u32::from(!is_there);
        if is_there {
            // What is lost of the log or of a directory may refuse this, but must not end the process.
            let _ = put(&mut program, "/after", true, &bytes(99, 5_000));
        }
    }
    println!("{}: {operations} programs and erases, {cuts} cuts, {lost} take something", kind.name);
    (cuts, lost)
}

#[test]
fn without_a_translation_a_cut_takes_an_erase_block() {
    let (cuts, lost) = cut_everywhere((SMALL_BLOCKS, 64), direct, 7);
    assert!(cuts > 50 && lost > 0 && lost < cuts, "{lost} of {cuts}");
    let (cuts, lost) = cut_everywhere((SPI_NAND, 32), direct, 7);
    assert!(cuts > 50 && lost > 0 && lost < cuts, "{lost} of {cuts}");
}

#[test]
fn the_wear_levelling_of_esp_idf_does_not_help() {
    let (cuts, lost) = cut_everywhere((SMALL_BLOCKS, 64), |_| LEVELLED, 11);
    assert!(cuts > 50 && lost < cuts, "{lost} of {cuts}");
}

/// Sectors are written as a whole, and beside the one that is written nothing is touched.
#[test]
fn on_a_page_map_no_cut_takes_older_files() {
    let (cuts, lost) = cut_everywhere((SPI_NAND, 32), page_map, 1);
    assert!(cuts > 50 && lost == 0, "{lost} of {cuts}");
}
