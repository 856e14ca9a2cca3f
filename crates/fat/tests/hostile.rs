//! Volumes whose tables, directories and boot sectors hold what nobody has written: every call comes to an end, with an answer or an error.

use crate::support;

use ffslab_bare::paths::PathProgram;
use ffslab_fat::Config;
use ffslab_foreign::Translation;
use ffslab_fs::FileKind;
use ffslab_system::{Calls, OpenFlags, System};
use support::{medium, program_on, SMALL_BLOCKS};

const SECTORS: Translation = Translation::Direct { sector_bytes: 512 };

fn put(program: &mut PathProgram, path: &str, bytes: usize) {
    let flags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };
    let Ok(fd) = program.open(path.as_bytes(), flags, 0o644) else { return };
    let _ = program.pwrite(fd, &vec![7; bytes], 0);
    let _ = program.ftruncate(fd, bytes as u64 / 2);
    let _ = program.close(fd);
}

/// Looks at all, as far as there is an end of it, and changes something.
fn use_it(program: &mut PathProgram) -> usize {
    let mut pending = vec![String::new()];
    let mut seen = 0;
    while let Some(directory) = pending.pop().filter(|_| seen < 200) {
        for entry in program.readdir_path(directory.as_bytes()).unwrap_or_default() {
            seen += 1;
            let path = format!("{directory}/{}", String::from_utf8_lossy(&entry.name));
            if entry.kind == Some(FileKind::Directory) {
                pending.push(path.clone());
            }
            if let Ok(fd) = program.open(path.as_bytes(), OpenFlags::READ, 0) {
                let _ = program.pread_discard(fd, 0, 20_000);
                let _ = program.close(fd);
            }
        }
    }
    put(program, "/new", 9_000);
    put(program, "/d/f3", 30_000);
    let _ = program.mkdir(b"/d/e", 0o755);
    let _ = program.rename(b"/d/f1", b"/moved");
    let _ = program.unlink(b"/f2");
    let _ = program.statfs();
    seen
}

#[test]
fn damaged_volumes_end_no_process() {
    let chip = medium(SMALL_BLOCKS, 64);
    let mut program = program_on(chip.clone(), SECTORS, Config::default());
    program.mount(&[]).unwrap();
    program.mkdir(b"/d", 0o755).unwrap();
    for number in 0..6 {
        put(&mut program, &format!("/f{number}"), 3_000 * number);
        put(&mut program, &format!("/d/f{number}"), 2_000 * number);
    }
    program.umount().unwrap();
    let start = chip.snapshot();
    let (mut mounted, mut seen) = (0, 0);
    for seed in 0..120_u64 {
        chip.restore(&start).unwrap();
        // Programs of NOR clear bits wherever they are.
        let mut random = seed;
        for _ in 0..1 + seed % 40 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let area_bytes = if seed % 2 == 0 { 6_000 } else { 40_000 };
            chip.write((random >> 33) % area_bytes, &[(random >> 20) as u8]).unwrap();
        }
        let mut program = program_on(chip.clone(), SECTORS, Config::default());
        if program.mount(&[]).is_ok() {
            mounted += 1;
            seen += use_it(&mut program);
            let _ = program.umount();
        }
    }
    println!("{mounted} of 120 were mounted, {seen} names were seen");
    assert!(mounted > 20 && seen > 100, "{mounted}, {seen}");
}
