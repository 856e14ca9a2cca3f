//! A volume that is full, one on a chip with bad blocks, causes, and what the settings change.

use crate::support;

use ffslab_bare::paths::PathProgram;
use ffslab_conformance::on::SPI_NAND;
use ffslab_fat::{causes, format, Config, Fat, FatType, MountError};
use ffslab_foreign::Translation;
use ffslab_fs::{Errno, PathFileSystem};
use ffslab_sim::{Reason, OTHER};
use ffslab_system::{Calls, OpenFlags, System};
use support::{direct, medium, page_map, program_on, LEVELLED, SMALL_BLOCKS};

const WRITE: OpenFlags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };

fn write(program: &mut PathProgram, path: &str, data: &[u8]) -> Result<(), Errno> {
    let done = (|| {
        let fd = program.open(path.as_bytes(), WRITE, 0o644)?;
        let written = program.pwrite(fd, data, 0);
        program.close(fd)?;
        written
    })();
    match done.map_err(|refusal| refusal.errno())? {
        written if written == data.len() => Ok(()),
        _ => Err(Errno::NoSpc),
    }
}

#[test]
fn a_full_volume_says_so_and_goes_on_when_there_is_room() {
    let chip = medium(SMALL_BLOCKS, 96);
    let mut program = program_on(chip.clone(), direct(&chip), Config::default());
    program.mount(&[]).unwrap();
    let full =
        (0..100).find_map(|number| write(&mut program, &format!("f{number}"), &[7; 9_000]).err().map(|e| (number, e)));
    let (number, error) = full.expect("384 KiB are not endless");
    assert_eq!(error, Errno::NoSpc);
    assert!(number > 20, "{number}");
    program.unlink(b"f3").unwrap();
    write(&mut program, "again", &[8; 9_000]).unwrap();
    program.umount().unwrap();
    program.mount(&[]).unwrap();
    let fd = program.open(b"again", OpenFlags::READ, 0).unwrap();
    let mut found = vec![0; 9_001];
    assert_eq!(program.pread(fd, &mut found, 0), Ok(9_000));
    assert!(found[..9_000] == [8; 9_000]);
}

#[test]
fn a_full_root_directory_says_so() {
    let chip = medium(SMALL_BLOCKS, 96);
    let mut program = program_on(chip.clone(), direct(&chip), Config { root_entries_count: 128, ..Config::default() });
    program.mount(&[]).unwrap();
    // A name takes an entry, and one more for its long form.
    let errors = (0..80).filter_map(|number| write(&mut program, &format!("long name {number}"), b"").err());
    assert_eq!(errors.collect::<Vec<_>>(), vec![Errno::NoSpc; 80 - 64]);
}

#[test]
fn bad_blocks_are_those_of_the_page_map() {
    let chip = medium(SPI_NAND, 40);
    let block_bytes = u64::from(chip.erase_block_bytes());
    for block in [3, 4, 17, 30] {
        chip.mark_bad(block * block_bytes).unwrap();
    }
    let mut program = program_on(chip.clone(), page_map(&chip), Config::default());
    program.mount(&[]).unwrap();
    for round in 0..30u8 {
        for file in 0..5u8 {
            write(&mut program, &format!("f{file}"), &[round * 5 + file; 20_000]).unwrap();
        }
    }
    program.umount().unwrap();
    program.mount(&[]).unwrap();
    for file in 0..5u8 {
        let fd = program.open(format!("f{file}").as_bytes(), OpenFlags::READ, 0).unwrap();
        let mut found = vec![0; 20_000];
        assert_eq!(program.pread(fd, &mut found, 0), Ok(20_000));
        assert!(found == [29 * 5 + file; 20_000], "f{file}");
    }
    // The blocks that are left share the work.
    let counts = chip.erase_counts();
    let (least, most) = counts
        .iter()
        .enumerate()
        .filter(|(block, _)| ![3, 4, 17, 30].contains(block))
        .fold((u32::MAX, 0), |(least, most), (_, &count)| (least.min(count), most.max(count)));
    assert!(most <= 4 * (least + 1), "{counts:?}");
}

#[test]
fn each_operation_has_a_cause() {
    let expected: [&'static Reason; 4] = [&causes::ENTRY, &causes::TABLE, &causes::VOLUME, &causes::SPACE_COUNT];
    for (kind, blocks, of) in [(SMALL_BLOCKS, 128, direct as fn(&_) -> Translation), (SPI_NAND, 40, page_map)] {
        let chip = medium(kind, blocks);
        let config = Config { cache_sectors_count: 1, ..Config::default() };
        let mut program = program_on(chip.clone(), of(&chip), config);
        program.mount(&[]).unwrap();
        program.mkdir(b"d", 0o755).unwrap();
        for round in 0..10 {
            write(&mut program, &format!("d/f{}", round % 3), &vec![round; 3_000 * usize::from(round)]).unwrap();
            program.readdir_path(b"d").unwrap();
        }
        program.statfs().unwrap();
        program.umount().unwrap();
        let of = |reason| chip.sim().causes().of_reason(reason);
        let operations = |reason| of(reason).page_reads + of(reason).page_programs + of(reason).erases;
        assert_eq!(operations(&OTHER), 0, "{}", kind.name);
        assert_eq!(of(&ffslab_fs::causes::SYNC).page_programs, 0, "{}", kind.name);
        for reason in expected {
            assert!(operations(reason) > 0, "{}: {}", kind.name, reason.name);
        }
        assert!(of(&ffslab_fs::causes::DATA).page_programs > 0);
    }
}

#[test]
fn a_clock_gives_dates_which_cost_writes() {
    let programs = |epoch_s, update_accessed_date| {
        let chip = medium(SMALL_BLOCKS, 96);
        let config = Config { epoch_s, update_accessed_date, ..Config::default() };
        let mut program = program_on(chip.clone(), LEVELLED, config);
        program.mount(&[]).unwrap();
        write(&mut program, "a", &[1; 5_000]).unwrap();
        program.sleep_ns(2 * 86_400 * 1_000_000_000);
        let before = chip.sim().total();
        let fd = program.open(b"a", OpenFlags::READ, 0).unwrap();
        program.pread_discard(fd, 0, 5_000).unwrap();
        program.close(fd).unwrap();
        write(&mut program, "a", &[2; 5_000]).unwrap();
        (chip.sim().total() - before).erases
    };
    let (without, dated, accessed) =
        (programs(None, false), programs(Some(1_300_000_000), false), programs(Some(1_300_000_000), true));
    assert!(without < dated && dated < accessed, "{without} {dated} {accessed}");
}

#[test]
fn the_type_follows_from_the_clusters() {
    let chip = medium(SMALL_BLOCKS, 96);
    let made = |config: &Config| format(&chip, direct(&chip), config);
    made(&Config { fat_type: Some(FatType::Fat12), ..Config::default() }).unwrap();
    let mounted = Fat::mount(&chip, direct(&chip), &Config::default()).unwrap();
    assert_eq!(mounted.fat_type(), Some(FatType::Fat12));
    let refused = made(&Config { fat_type: Some(FatType::Fat32), ..Config::default() });
    assert_eq!(refused, Err(MountError::OtherType { wanted: "FAT32", found: "FAT12" }));
    let chip = medium(SMALL_BLOCKS, 12);
    let refused = format(&chip, direct(&chip), &Config::default());
    assert!(matches!(refused, Err(MountError::NotMade(_))), "{refused:?}");
}

#[test]
fn what_is_open_is_neither_removed_nor_written_twice() {
    let chip = medium(SMALL_BLOCKS, 96);
    format(&chip, direct(&chip), &Config::default()).unwrap();
    let mut fat = Fat::mount(&chip, direct(&chip), &Config::default()).unwrap();
    let how = ffslab_fs::OpenHow { read: true, write: true, create: true, ..Default::default() };
    let file = fat.open(b"/a", how).unwrap();
    assert_eq!(fat.open(b"/A", how), Err(Errno::Busy));
    assert_eq!(fat.remove(b"a"), Err(Errno::Busy));
    assert_eq!(fat.rename(b"a", b"b"), Err(Errno::Busy));
    fat.close(file).unwrap();
    fat.rename(b"a", b"b").unwrap();
    assert_eq!(fat.rename(b"nothing", b"b"), Err(Errno::NoEnt));
    assert_eq!(fat.mkdir(b"b"), Err(Errno::Exist));
    assert_eq!(fat.mkdir(b"a*b"), Err(Errno::Inval));
    assert_eq!(fat.close(file), Err(Errno::BadF));
}
