//! Blocks that fail in the five ways of littlefs's own tests: what a translation makes of them for FAT, which knows no bad blocks itself. None
//! of it is promised: what is found stands in docs/fat.md.

use crate::support::{direct, medium, page_map, program_on, LEVELLED, SMALL_BLOCKS};
use ffslab_conformance::failing::{failing, Fails};
use ffslab_conformance::on::{Kind, SPI_NAND};
use ffslab_fat::{format, Config};
use ffslab_foreign::Translation;
use ffslab_mtd::Mtd;
use ffslab_system::{Answer, Calls, OpenFlags, System};
use std::path::Path;

const FILES: usize = 6;
/// Enough to erase most blocks again, however few of them a round fills.
const ROUNDS: usize = 24;

/// What became of files while blocks failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcome {
    /// Rewrites of a file that a program was told to have failed.
    refused: u32,
    /// Files that could not be read back.
    unreadable: u32,
    /// Files that held something else than what a program was told to be written.
    wrong: u32,
    /// Mounts that were refused.
    unmountable: u32,
}

impl Outcome {
    /// A cell of the table of docs/fat.md.
    fn in_words(self) -> &'static str {
        match self {
            Outcome { refused: 0, unreadable: 0, wrong: 0, unmountable: 0 } => "nothing is lost",
            Outcome { wrong: 0, .. } => "EIO",
            Outcome { refused: 0, unreadable: 0, unmountable: 0, .. } => "other bytes, untold",
            _ => "EIO, or other bytes, untold",
        }
    }
}

fn rewrite(program: &mut impl Calls, path: &str, data: &[u8]) -> Answer<()> {
    let flags = OpenFlags { create: true, truncate: true, ..OpenFlags::READ_WRITE };
    let fd = program.open(path.as_bytes(), flags, 0o644)?;
    let written = program.pwrite(fd, data, 0);
    let closed = program.close(fd);
    written?;
    closed
}

fn read(program: &mut impl Calls, path: &str) -> Answer<Vec<u8>> {
    let fd = program.open(path.as_bytes(), OpenFlags::READ, 0)?;
    let mut found = vec![0; 100_000];
    let read = program.pread(fd, &mut found, 0);
    program.close(fd)?;
    found.truncate(read?);
    Ok(found)
}

/// Files are written anew and read back after a mount, on a chip that was whole when the volume was made: one block of four fails, but none of those
/// in which the volume begins, or in which the wear levelling has its state.
fn outcome((kind, blocks): (Kind, u32), of: fn(&Mtd) -> Translation, how: Fails) -> Outcome {
    let chip = medium(kind, blocks);
    let translation = of(&chip);
    format(&chip, translation, &Config::default()).unwrap();
    let mut program = program_on(failing(chip, how, fails), translation, Config::default());
    let mut told = Outcome::default();
    let mut held: [Option<Vec<u8>>; FILES] = Default::default();
    for round in 0..ROUNDS {
        if program.mount(&[]).is_err() {
            told.unmountable += 1;
            continue;
        }
        for (file, held) in held.iter_mut().enumerate() {
            let data = vec![(file * 32 + round) as u8; 500 + file * 9_000];
            let written = rewrite(&mut program, &format!("f{file}"), &data);
            told.refused += u32::from(written.is_err());
            *held = written.ok().map(|()| data);
        }
        // What cannot be written at its end is lost with it.
        if program.umount().is_err() {
            program.crash().unwrap();
        }
        if program.mount(&[]).is_err() {
            told.unmountable += 1;
            continue;
        }
        for (file, held) in held.iter().enumerate() {
            match (read(&mut program, &format!("f{file}")), held) {
                (Err(_), _) => told.unreadable += 1,
                (Ok(found), Some(held)) => told.wrong += u32::from(found != *held),
                (Ok(_), None) => {}
            }
        }
        let _ = program.crash();
    }
    told
}

fn fails(block: u64) -> bool {
    (8..88).contains(&block) && block % 4 == 1
}

#[test]
fn what_a_translation_makes_of_failing_blocks_stands_in_the_docs() {
    type Of = fn(&Mtd) -> Translation;
    let media: [(&str, (Kind, u32), Of); 3] = [
        ("`\"none\"`", (SMALL_BLOCKS, 96), direct),
        ("`\"wear-levelling\"`", (SMALL_BLOCKS, 96), |_| LEVELLED),
        ("`\"page-map\"`", (SPI_NAND, 40), page_map),
    ];
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fat.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = media.map(|(name, chip, of)| {
        let told = Fails::ALL.map(|how| outcome(chip, of, how));
        println!("{name}: {told:?}");
        format!("| {name} | {} |", told.map(Outcome::in_words).join(" | "))
    });
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(*row)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
