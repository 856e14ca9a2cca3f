//! A chip in the hands of a program in Rust.

use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use ffslab_chip::{CallOp, Chip, ChipError, MtdError, NorPort, Torn};

const NOR: &str = "board = \"licheepi-nano\"\npart = \"w25q128jv\"\nerase_block_KiB = 4\npartition_blocks = 8\n";

#[test]
fn labels_are_scopes_and_count() {
    let mut chip = Chip::open(NOR).unwrap();
    chip.because("outer", |chip| {
        chip.erase(0).unwrap();
        chip.because("inner", |chip| chip.erase(4096).unwrap()).unwrap();
        chip.program(0, &[1, 2, 3]).unwrap();
    })
    .unwrap();
    let (outer, inner) = (chip.counts_of("outer"), chip.counts_of("inner"));
    assert_eq!((outer.erases, outer.page_programs, inner.erases, chip.counts().erases), (1, 1, 1, 2));
    assert!(matches!(chip.end_label(), Err(ChipError::NoLabel)));
    // A name that the laboratory has is its reason.
    chip.because("gc copy", |chip| chip.erase(0).unwrap()).unwrap();
    assert_eq!(chip.counts_of("gc copy").erases, 1);
}

#[test]
fn power_comes_back_and_what_was_programmed_is_there() {
    let mut chip = Chip::open(NOR).unwrap();
    chip.erase(0).unwrap();
    chip.program(0, b"kept").unwrap();
    let held = chip.snapshot();
    chip.cut_power_after(1, Torn::Nothing);
    assert_eq!(chip.program(8, b"lost"), Err(MtdError::PowerCut));
    assert!(!chip.is_powered() && chip.sync() == Err(MtdError::PowerCut));
    chip.restart().unwrap();
    let mut bytes = [0; 12];
    chip.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"kept\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
    chip.erase(0).unwrap();
    chip.restore(&held).unwrap();
    chip.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes[..4], b"kept");
}

#[test]
fn the_traits_of_embedded_storage_say_what_does_not_fit() {
    fn clears_bits(flash: &mut impl MultiwriteNorFlash) {
        flash.erase(0, 8192).unwrap();
        flash.write(4, &[0xF0; 4]).unwrap();
        flash.write(4, &[0x3C; 4]).unwrap();
        let mut back = [0; 8];
        flash.read(0, &mut back).unwrap();
        assert_eq!(back, [0xFF, 0xFF, 0xFF, 0xFF, 0x30, 0x30, 0x30, 0x30]);
    }
    let mut port = NorPort::<1, 4, 4096>::new(Chip::open(NOR).unwrap()).unwrap();
    clears_bits(&mut port);
    assert_eq!(port.capacity(), 8 * 4096);
    let kind = |error: Result<(), ffslab_chip::PortError>| error.unwrap_err().kind();
    assert_eq!(kind(port.write(2, &[0; 4])), NorFlashErrorKind::NotAligned);
    assert_eq!(kind(port.erase(0, 100)), NorFlashErrorKind::NotAligned);
    assert_eq!(kind(port.read(8 * 4096 - 1, &mut [0; 2])), NorFlashErrorKind::OutOfBounds);
    assert_eq!(port.chip().counts().erases, 2);
    assert!(NorPort::<1, 4, 1000>::new(Chip::open(NOR).unwrap()).is_err());
    // Pages of NAND cannot be programmed word by word.
    let nand = Chip::open("partition_blocks = 8\n").unwrap();
    assert!(NorPort::<1, 4, 131072>::new(nand).is_err());
}

#[test]
fn a_call_is_one_row_with_its_operations() {
    let mut chip = Chip::open(NOR).unwrap();
    let nothing_measured = chip.save_results(std::path::Path::new("never")).unwrap_err();
    assert!(nothing_measured.to_string().contains("begin a step"), "{nothing_measured}");
    chip.begin_step("one").unwrap();
    chip.begin_call(CallOp::Write, "key", 0).unwrap();
    assert!(matches!(chip.begin_call(CallOp::Write, "key", 0), Err(ChipError::CallIsOpen)));
    chip.erase(0).unwrap();
    chip.program(0, &[0; 300]).unwrap();
    chip.end_call(300);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("chip-results");
    chip.save_results(&folder).unwrap();
    let summary = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let variant = &summary["variants"][0];
    assert_eq!(variant["latency_us"]["n"], 1);
    assert_eq!(variant["user_written_B"], 300);
    std::fs::remove_dir_all(folder).unwrap();
}
