use super::*;
use crate::built_in::{Kind, BUILT_IN};
use crate::keys::keys_of;
use crate::layers::{merged, part_named};
use crate::look_up::Text;
use crate::{list, show, Profile, Status};
use std::path::Path;

fn here() -> &'static Path {
    Path::new("")
}

fn part(name: &str) -> Part {
    part_named(name, here()).unwrap()
}

/// The part of a text; what it builds on is built in.
fn read(text: &str) -> Result<Part, String> {
    let source = Text { label: "my.toml".to_string(), text: text.to_string(), folder: here().into() };
    merged(Kind::Part, &source).and_then(|merged| Part::of(&merged)).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    read(text).unwrap_err()
}

#[test]
fn there_are_parts_of_all_kinds_and_boards_with_serial_flash() {
    let listed = list().unwrap();
    let of_kind = |kind: PartKind| {
        let of_kind = |entry: &&crate::ProfileName| entry.part.as_ref().is_some_and(|part| part.kind == kind.name());
        let vendor = |entry: &crate::ProfileName| entry.title.as_ref().unwrap().split(' ').next().unwrap().to_string();
        let mut vendors: Vec<String> = listed.iter().filter(of_kind).map(vendor).collect();
        let count = vendors.len();
        vendors.sort();
        vendors.dedup();
        (count, vendors.len())
    };
    let counts = PartKind::ALL.map(of_kind);
    assert!(counts.iter().map(|(parts, _)| parts).sum::<usize>() >= 30, "{counts:?}");
    let [_, (_, spi_nand_vendors), (_, spi_nor_vendors), (parallel, _)] = counts;
    assert!(spi_nand_vendors >= 6 && spi_nor_vendors >= 4 && parallel >= 2, "{counts:?}");
    let is_of = |cell, page_bytes| {
        move |entry: &&crate::ProfileName| {
            entry.part.as_ref().is_some_and(|part| part.cell == Some(cell) && part.page_bytes == page_bytes)
        }
    };
    for (cell, page_bytes) in [("slc", 512), ("slc", 2048), ("slc", 4096), ("mlc", 4096), ("mlc", 8192)] {
        assert!(listed.iter().any(|entry| is_of(cell, page_bytes)(&entry)), "{cell} {page_bytes}");
    }
    let boards: Vec<&str> = BUILT_IN.iter().filter(|(kind, _, _)| *kind == Kind::Board).map(|(_, n, _)| *n).collect();
    let on_serial_flash = |name: &&&str| Profile::load(name, None, None, here()).unwrap().spi().is_ok();
    assert!(boards.len() >= 9 && boards.iter().filter(on_serial_flash).count() >= 6, "{boards:?}");
}

/// What is called so was read in a data sheet, and what was not looked up is not called so.
#[test]
fn sources_fit_their_status() {
    for (kind, name, _) in BUILT_IN.iter().filter(|(kind, _, _)| *kind == Kind::Part) {
        for constant in show(name).unwrap().values {
            let says = |words: &[&str]| words.iter().any(|word| constant.source.contains(word));
            let place = format!("{kind:?} {name}: {} = {:?}", constant.key, constant.source);
            match constant.status {
                Status::Datasheet => {
                    assert!(
                        says(&["read in a cop", "read in copies", "key parameters", "the same data sheet"]),
                        "{place}"
                    );
                }
                Status::Unverified => assert!(!constant.source.is_empty(), "{place}"),
                Status::Published | Status::Measured | Status::Fitted => {}
            }
            if says(&["not opened", "not looked up", "from memory"]) {
                assert_eq!(constant.status, Status::Unverified, "{place}");
            }
        }
    }
}

/// Parts that were there before they had kinds are what they were.
#[test]
fn a_file_without_a_kind_is_raw_nand() {
    let old = part("mt29f2g08aac");
    assert_eq!((old.kind(), old.bus_bits(), old.spi_nand().is_none()), (PartKind::Nand, Some(8), true));
    let sizes = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 2048 };
    assert_eq!(old.geometry(), sizes);
    let times = Timing { read_ns: 25_000, program_ns: 300_000, erase_ns: 2_000_000, bus_ps_per_byte: 30_000 };
    assert_eq!((old.timing(), old.rules()), (times, Rules { partial_programs_max: 4, in_order: true }));
    assert_eq!((old.endurance_erases(), old.nand().unwrap().cell), (Some(100_000), Cell::Slc));
    let mut larger = old;
    larger.set_blocks(9_000);
    assert_eq!(larger.geometry().blocks, 9_000);
}

#[test]
fn mlc_says_what_its_pages_share() {
    let mlc = part("k9gag08u0m");
    let array = mlc.nand().unwrap();
    assert_eq!((array.cell, array.pairing), (Cell::Mlc, Some(Pairing::Dist6)));
    assert_eq!((array.program_fast_ns, array.program_slow_ns), (Some(300_000), Some(1_300_000)));
    assert_eq!(array.rules.partial_programs_max, 1);
    let on_slc = refused("base = \"mt29f2g08abaea\"\npairing = \"dist3\"\n");
    assert!(on_slc.starts_with("my.toml: pairing, t_program_fast_us"), "{on_slc}");
}

#[test]
fn a_spi_nand_part_says_its_bus_and_its_ecc() {
    let flash = part("w25n01gv");
    let chip = flash.spi_nand().unwrap();
    assert_eq!((flash.kind(), chip.array.geometry.blocks, chip.clock_max_hz), (PartKind::SpiNand, 1024, 104_000_000));
    let widest = SpiRead { mode: SpiMode::S144, dummy_cycles: 4, clock_max_hz: 104_000_000 };
    assert_eq!((chip.reads[0], chip.reads.len(), chip.programs[0]), (widest, 5, SpiMode::S114));
    let layout = OobLayout::WinbondW25m02gv;
    assert_eq!(chip.ecc, OnDieEcc { step_bytes: 512, strength_bits: 1, status: EccStatus::Generic, layout });
    assert_eq!((chip.array.read_ns, chip.read_ecc_off_ns, flash.timing().bus_ps_per_byte), (60_000, Some(25_000), 0));
    assert_eq!(part("w25m02gv").nand().unwrap().dies, 2);
    let power = part("gd5f1gq4ua").power();
    assert!((power.read_milliwatt.unwrap() - 132.0).abs() < 1e-9 && power.standby_milliwatt.unwrap() < 1.0);
    assert_eq!(part("mx35lf1ge4ab").longest_times().read_ns, Some(70_000));
}

#[test]
fn nor_parts_have_blocks_without_out_of_band_bytes() {
    let spi = part("w25q128jv");
    let chip = spi.spi_nor().unwrap();
    assert_eq!((chip.array.blocks, chip.array.erase_block_bytes, chip.address_bytes), (256, 64 << 10, 3));
    assert_eq!((chip.small_erase_ns, chip.program_byte_ns), (Some(45_000_000), 30_000));
    let sizes = Geometry { page_bytes: 256, oob_bytes: 0, pages_per_block: 256, blocks: 256 };
    assert_eq!((spi.geometry(), spi.nand().is_none(), spi.rules().in_order), (sizes, true, false));
    assert_eq!(part("w25q256").spi_nor().unwrap().address_bytes, 4);
    let parallel = part("js28f256p30");
    let chip = parallel.parallel_nor().unwrap();
    assert_eq!(chip.page_read, Some(PageRead { page_bytes: 32, access_ns: 25 }));
    assert_eq!(chip.write_buffer, Some(WriteBuffer { size_bytes: 1024, program_ns: 683_000 }));
    assert_eq!((chip.command_set, chip.array.write_size_bytes), (CommandSet::Intel, 1));
    assert_eq!((parallel.geometry().pages_per_block, parallel.timing().read_ns), (128, 110));
}

#[test]
fn what_no_chip_has_is_refused_with_its_place() {
    for (text, says) in [
        ("kind = \"spi-nadn\"\n", "my.toml:1: kind: unknown value `spi-nadn`: did you mean `spi-nand`?"),
        ("base = \"w25n01gv\"\nbus_ns_per_B = 25\n", "my.toml:2: unknown key `bus_ns_per_B`"),
        ("kind = \"spi-nor\"\nbase = \"w25n01gv\"\n", "base: w25n01gv is a SPI NAND part, and this a SPI NOR part"),
        ("base = \"w25n01gv\"\ndummy_clocks = [8]\n", "read_modes, dummy_clocks and read_clocks_MHz"),
        ("base = \"w25n01gv\"\nread_modes = [\"1-1-3\"]\n", "my.toml:2: read_modes: unknown value `1-1-3`"),
        ("base = \"w25n01gv\"\necc_strength_bits = 0\n", "steps must fill a page, and correct"),
        ("base = \"w25n01gv\"\nclock_max_MHz = 0\n", "a clock above 0"),
        ("base = \"w25q128jv\"\nerase_4KiB = false\n", "the time is needed exactly if 4 KiB can be erased"),
        ("base = \"w25q128jv\"\nprogram_page_B = 200\n", "program_page_B = 200: a power of two"),
        ("base = \"w25q128jv\"\nsize_KiB = 100\n", "whole blocks must fill the chip"),
        ("base = \"s29gl256p\"\nwidth_bits = 12\n", "width_bits = 12: 8, 16 or 32 is needed"),
        ("base = \"mt29f2g08abaea\"\nbus_bits = 9\n", "bus_bits = 9: 8 or 16 is needed"),
        ("base = \"mt29f2g08abaea\"\nplanes = 0\n", "planes, dies: at least one is needed"),
    ] {
        let error = refused(text);
        assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
    }
    let missing = refused("title = \"x\"\nkind = \"parallel-nor\"\nsize_KiB = 1024\n");
    assert!(missing.contains("6 keys of a parallel NOR part are missing"), "{missing}");
    assert!(missing.contains("t_access_ns (From an address to its first word (ns))"), "{missing}");
    assert!(
        missing.contains("command_set (The driver of Linux that knows its commands (\"intel\" or \"amd\"))"),
        "{missing}"
    );
}

#[test]
fn every_number_of_a_part_says_where_a_data_sheet_has_it() {
    for kind in PartKind::ALL {
        for key in keys_of(Kind::Part, kind).iter().filter(|key| !key.is_text) {
            assert!(!key.look_up.is_empty() && !key.about.contains("Look up"), "{kind:?} {}", key.path);
        }
        assert_eq!(part(kind.example()).kind(), kind);
        let text = crate::template(kind.example(), kind.example()).unwrap();
        assert!(text.contains("# Data sheet: ") && !text.contains("# kind"), "{text}");
    }
    let text = crate::template("w25n01gv", "w25n01gv").unwrap();
    assert!(text.starts_with("# A SPI NAND part that builds on w25n01gv"), "{text}");
    assert!(text.contains("# read_modes = [\"1-1-1\", \"1-1-2\", \"1-2-2\", \"1-1-4\", \"1-4-4\"]"), "{text}");
    assert!(text.contains("tBERS (SPI NAND also tBE, tERS), \"typ\""), "{text}");
}

#[test]
fn a_board_has_a_controller_for_serial_flash_and_ecc_for_raw_nand() {
    let board = Profile::load("luckfox-pico-max", None, None, here()).unwrap();
    let spi = board.spi().unwrap();
    assert_eq!((spi.clock_hz, spi.read_lines, spi.program_lines), (75_000_000, 4, 1));
    assert_eq!((spi.transfer_overhead_ns, spi.transfer_max_bytes, spi.polls_in_hardware), (15_000, None, false));
    assert_eq!((board.part.kind(), board.driver().read.overhead_ns), (PartKind::SpiNand, 0));
    let on_omap = Profile::load("omap3evm", Some("w25n01gv"), None, here()).unwrap();
    let says = "part `w25n01gv` stands on a serial bus, and board `omap3evm` has no table [spi]";
    assert!(on_omap.spi().unwrap_err().to_string().contains(says));

    let folder = std::env::temp_dir().join(format!("ffslab-spi-board-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let load = |text: &str, part: Option<&str>| {
        std::fs::write(folder.join("b.toml"), text).unwrap();
        Profile::load("./b.toml", part, None, &folder).map_err(|error| error.to_string())
    };
    let spi = "[spi]\nclock_MHz = 50\nread_lines = 1\nprogram_lines = 1\ntransfer_overhead_us = 1\n";
    let whole = format!(
        "title = \"b\"\npart = \"w25q128jv\"\nkernel = \"6.1\"\nnand_wait = \"busy\"\npage_cache_KiB = 64\n[vfs]\nclock_read_ns = 0\n\
         call_ns = 0\ncpu_power_mW = 0\n{spi}"
    );
    assert_eq!(load(&whole, None).unwrap().spi().unwrap().copy_ps_per_byte, 0);
    let raw = load(&whole, Some("tc58nvg1s3e")).unwrap_err();
    assert!(raw.contains("does not say who corrects bit errors") && raw.contains("`tc58nvg1s3e` is raw NAND"), "{raw}");
    let raw = load(&whole.replace("w25q128jv", "tc58nvg1s3e"), None).unwrap_err();
    assert!(raw.contains("4 keys of a board are missing: ecc (Who corrects bit errors of raw NAND"), "{raw}");
    let lines = load(&whole.replace("read_lines = 1", "read_lines = 3"), None).unwrap_err();
    assert!(lines.ends_with("spi.read_lines = 3: 1, 2, 4 or 8 is needed"), "{lines}");
    let total = format!("{whole}[driver]\nread_us = 900\nprogram_overhead_us = 1\nerase_overhead_us = 1\n");
    let total = load(&total, None).unwrap_err();
    assert!(
        total.contains("driver.read_us: a total can be divided among chip and driver only above raw NAND"),
        "{total}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
