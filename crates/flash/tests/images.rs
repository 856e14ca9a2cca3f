//! Image files: round trips, sizes, bad blocks, ECC for a real kernel.

use crate::common;

use common::*;
use ffslab_flash::{hamming, Chip, Faults, ImageLayout, Torn};
use std::path::{Path, PathBuf};

const DATA: ImageLayout = ImageLayout { oob: false, hamming_ecc: false };
const WITH_OOB: ImageLayout = ImageLayout { oob: true, hamming_ecc: false };
const WITH_ECC: ImageLayout = ImageLayout { oob: true, hamming_ecc: true };

/// A folder of its own for each test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ffslab-flash-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Data in pages 0 and 5, OOB bytes in pages 0 and 9, everything else erased.
fn filled() -> Chip {
    let mut chip = chip();
    let mut oob = [0xFF; OOB];
    oob[2..10].copy_from_slice(b"\x85\x19\x03\x20\x08\0\0\0");
    chip.program_page(0, &pattern(1, PAGE), Some(&oob)).unwrap();
    chip.program_page(5, &pattern(2, PAGE), None).unwrap();
    chip.program_oob(9, &oob).unwrap();
    chip
}

fn image(chip: &Chip, layout: ImageLayout) -> Vec<u8> {
    let mut bytes = Vec::new();
    chip.write_image(&mut bytes, 0..8, layout).unwrap();
    bytes
}

fn same_content(a: &Chip, b: &Chip) -> bool {
    (0..32).all(|page| a.peek_data(page) == b.peek_data(page) && a.peek_oob(page) == b.peek_oob(page))
}

#[test]
fn a_dump_with_oob_comes_back_whole() {
    let folder = Folder::new("dump");
    let chip = filled();
    let path = folder.file("nand.bin");
    chip.save_image(&path, 0..8, WITH_OOB).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 32 * 2112);
    let mut other = common::chip();
    other.program_page(31, &pattern(9, PAGE), None).unwrap();
    assert_eq!(other.load_image(&path, 0..8, WITH_OOB).unwrap(), 32);
    assert!(same_content(&chip, &other));
    assert_eq!((other.programmed_pages(0), other.programmed_pages(2)), (1, 0), "0xFF pages stay erased");
    assert_eq!(other.erase_counts(), [0; 8]);
    assert_eq!(other.sim().total().operations(), 1, "loading is no operation");
    other.program_page(9, &pattern(3, PAGE), None).unwrap();
    assert_eq!(other.sim().total().reprograms, 0);
    other.program_page(5, &pattern(3, PAGE), None).unwrap();
    assert_eq!(other.sim().total().reprograms, 1);
}

#[test]
fn the_layout_is_that_of_nanddump() {
    let bytes = image(&filled(), WITH_OOB);
    assert_eq!(bytes[..PAGE], pattern(1, PAGE));
    assert_eq!(bytes[PAGE + 2..PAGE + 6], *b"\x85\x19\x03\x20");
    assert_eq!(bytes[5 * 2112..5 * 2112 + PAGE], pattern(2, PAGE));
    let data = image(&filled(), DATA);
    assert_eq!((data.len(), &data[5 * PAGE..6 * PAGE]), (32 * PAGE, &pattern(2, PAGE)[..]));
}

#[test]
fn a_range_of_blocks_goes_into_another() {
    let folder = Folder::new("range");
    let path = folder.file("part.bin");
    filled().save_image(&path, 1..3, WITH_OOB).unwrap();
    let mut other = chip();
    other.program_page(2, &pattern(7, PAGE), None).unwrap();
    other.load_image(&path, 4..8, WITH_OOB).unwrap();
    assert_eq!(other.peek_data(17).unwrap(), pattern(2, PAGE));
    assert!(other.peek_oob(21).is_some());
    assert_eq!(other.peek_data(2).unwrap(), pattern(7, PAGE), "outside the range nothing changes");
}

/// `nandwrite` skips bad blocks, so the pages of the image move on to the next good block.
#[test]
fn an_image_without_oob_skips_bad_blocks() {
    let mut chip = chip();
    chip.set_faults(&Faults { badblocks: vec![1], ..Faults::default() }).unwrap();
    let bytes = [pattern(1, 4 * PAGE), pattern(2, 4 * PAGE)].concat();
    chip.load_bytes("image", &bytes, 0..3, DATA).unwrap();
    assert_eq!(chip.peek_data(8), Some(&bytes[4 * PAGE..5 * PAGE]));
    assert!(chip.peek_data(4).is_none() && chip.is_marked_bad(1));
    let error = chip.load_bytes("image", &bytes, 0..2, DATA).unwrap_err();
    assert_eq!(
        error.to_string(),
        "image: 16384 bytes do not fit: the good blocks of the range hold 8192 bytes (data only)"
    );
}

#[test]
fn wrong_sizes_and_ranges_are_explained() {
    let folder = Folder::new("sizes");
    let path = folder.file("odd.bin");
    std::fs::write(&path, vec![0; 5000]).unwrap();
    let mut chip = filled();
    let before = image(&chip, WITH_OOB);
    let error = chip.load_image(&path, 0..8, DATA).unwrap_err().to_string();
    let expected = "5000 bytes are not a whole number of pages of 2048 bytes (data only); 6144 bytes would be";
    assert_eq!(error, format!("{}: {expected}", path.display()));
    let error = chip.load_image(&path, 0..9, DATA).unwrap_err().to_string();
    assert_eq!(error, "blocks 0 to 9 are not a part of the chip, which has 8 blocks");
    let error = chip.load_bytes("x", &vec![0; 5 * 2112], 0..1, WITH_OOB).unwrap_err().to_string();
    assert_eq!(error, "x: 10560 bytes do not fit: the good blocks of the range hold 8448 bytes (data and OOB)");
    let missing = folder.file("missing.bin");
    let error = chip.load_image(&missing, 0..8, DATA).unwrap_err().to_string();
    assert!(error.starts_with(&missing.display().to_string()), "{error}");
    assert!(image(&chip, WITH_OOB) == before, "a refused image changes nothing");
}

#[test]
fn a_failed_save_leaves_nothing_behind() {
    let folder = Folder::new("atomic");
    let path = folder.file("taken");
    std::fs::create_dir(&path).unwrap();
    assert!(filled().save_image(&path, 0..8, DATA).is_err());
    assert!(filled().save_image(&folder.file("no/such/folder"), 0..8, DATA).is_err());
    assert!(filled().save_image(Path::new("/"), 0..8, DATA).is_err());
    let names: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["taken"]);
}

/// Each step of a programmed page gets its code at bytes 40..64, or one that says that it is lost; what is erased or was
/// there before stays as it is.
#[test]
fn hamming_codes_for_a_real_kernel() {
    let mut chip = filled();
    let mut own_ecc = [0xFF; OOB];
    own_ecc[40..43].copy_from_slice(b"own");
    chip.program_page(12, &pattern(4, PAGE), Some(&own_ecc)).unwrap();
    let mut header = [0xFF; PAGE];
    header[..64].fill(0x42);
    chip.program_page(13, &header, None).unwrap();
    chip.cut_power_after(1, Torn::Partial { seed: 5 });
    assert!(chip.program_page(14, &pattern(5, PAGE), None).is_err());
    let damaged = chip.damaged_units(14);
    assert!(damaged != 0 && damaged != 0xFF, "{damaged:#b}");

    let bytes = image(&chip, WITH_ECC);
    let oob = |page: usize| &bytes[page * 2112 + PAGE..(page + 1) * 2112];
    for (step, data) in pattern(1, PAGE).chunks(256).enumerate() {
        assert_eq!(oob(0)[40 + 3 * step..43 + 3 * step], hamming::code(data));
    }
    assert_eq!(oob(0)[..40], image(&chip, WITH_OOB)[PAGE..PAGE + 40]);
    assert_eq!(oob(9)[40..], [0xFF; 24], "only the OOB area was programmed");
    assert_eq!(oob(12)[40..43], *b"own");
    assert_eq!(oob(12)[43..46], hamming::code(&pattern(4, PAGE)[256..512]));
    assert_eq!(oob(13)[40..43], hamming::code(&header[..256]));
    assert_eq!(oob(13)[43..], [0xFF; 21], "the code of erased bytes is erased");
    for (step, data) in bytes[14 * 2112..][..PAGE].chunks(256).enumerate() {
        let lost = damaged >> step & 1 == 1;
        let code = if lost { hamming::uncorrectable_code(data) } else { hamming::code(data) };
        assert_eq!(oob(14)[40 + 3 * step..43 + 3 * step], code);
    }

    let mut other = common::chip();
    other.load_bytes("image", &bytes, 0..8, WITH_OOB).unwrap();
    assert!(image(&other, WITH_OOB) == bytes);
}

#[test]
fn sizes_without_a_hamming_layout_are_refused() {
    use ffslab_flash::Geometry;
    let odd = Geometry { oob_bytes: 112, ..geometry() };
    let chip = Chip::new(chip().sim().clone(), odd, timing(), chip().rules()).unwrap();
    let error = chip.write_image(&mut Vec::new(), 0..8, WITH_ECC).unwrap_err().to_string();
    assert!(error.starts_with("no place for Hamming ECC bytes in pages of 2048 + 112 bytes"), "{error}");
}
