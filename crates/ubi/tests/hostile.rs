//! Damaged images: they attach or are refused with a reason; nothing panics, hangs or eats memory.

use crate::support;

use ffslab_conformance::content::Random;
use ffslab_conformance::mutate;
use ffslab_flash::ImageLayout;
use ffslab_ubi::{AttachError, BadReserve, Ubi, VolumeKind, VolumeRequest, VolumeSize};
use support::{content, Rig};

const BLOCKS: u32 = 24;
const PAGE: usize = 512;
const OOB: usize = 16;
const BLOCK: usize = 8 * PAGE;
/// Flash operations for attach, reading everything, some writing and another attach.
const OPERATIONS_MAX: u64 = 20_000;

fn rig() -> Rig {
    let mut rig = Rig::small(BLOCKS);
    rig.options.bad_reserve = BadReserve::PercentOfPartition(1);
    rig.options.wl_threshold_erases = 8;
    rig
}

/// Two volumes, and blocks that were given back and not yet erased.
fn image() -> Vec<u8> {
    let rig = rig();
    let ubi = rig.attach();
    ubi.flush().unwrap();
    for (name, kind, lebs) in [("a", VolumeKind::Dynamic, 8), ("b", VolumeKind::Static, 4)] {
        ubi.make_volume(&VolumeRequest::new(name, kind, VolumeSize::Lebs(lebs))).unwrap();
    }
    let volume = ubi.open(0).unwrap();
    for leb in 0..7 {
        volume.write(leb, 0, &content(leb, 0, 3 * PAGE)).unwrap();
    }
    ubi.open(1).unwrap().update(&content(9, 0, 9000)).unwrap();
    volume.change(1, &content(1, 1, 2 * PAGE)).unwrap();
    volume.unmap(2).unwrap();
    let mut bytes = Vec::new();
    rig.nand.with_chip(|chip| chip.write_image(&mut bytes, 0..BLOCKS, ImageLayout::default())).unwrap();
    bytes
}

/// Puts the check sums right, so that what the headers say is believed.
fn reseal(image: &mut [u8]) {
    let seal = |bytes: &mut [u8]| {
        let end = bytes.len() - 4;
        let crc = !crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_be_bytes());
    };
    for block in image.chunks_mut(BLOCK) {
        for (at, magic) in [(0, b"UBI#"), (256, b"UBI!")] {
            if &block[at..at + 4] == magic {
                seal(&mut block[at..at + 64]);
            }
        }
        let is_table = block[256 + 8..256 + 12] == 0x7FFF_EFFF_u32.to_be_bytes();
        if is_table {
            block[PAGE..].chunks_exact_mut(172).for_each(seal);
        }
    }
}

/// One step of a field of a header: numbers at the edges of what is possible.
fn change_field(image: &mut [u8], random: &mut Random) {
    let block = random.below(u64::from(BLOCKS)) as usize * BLOCK;
    let (base, fields) = match random.below(3) {
        0 => (0, &[4, 8, 12, 16, 20, 24][..]),
        1 => (256, &[4, 8, 12, 20, 24, 28, 32, 40, 44][..]),
        // Two records of the volume table, if this is a copy of it.
        _ => (PAGE + 172 * random.below(2) as usize, &[0, 4, 8, 12, 13, 14, 16, 144][..]),
    };
    let at = block + base + fields[random.below(fields.len() as u64) as usize];
    const VALUES: [u32; 12] =
        [0, 1, 2, 3, 7, 8, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x7FFF_EFFF, 0x7FFF_F000, 0x0100_0000];
    let value = VALUES[random.below(VALUES.len() as u64) as usize];
    image[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn load(image: &[u8]) -> Rig {
    load_into(rig(), image, ImageLayout::default())
}

fn load_into(rig: Rig, image: &[u8], layout: ImageLayout) -> Rig {
    rig.nand.with_chip(|chip| chip.load_bytes("image", image, 0..BLOCKS, layout)).unwrap();
    rig
}

const WITH_OOB: ImageLayout = ImageLayout { oob: true, hamming_ecc: false };

/// Puts out-of-band bytes behind each page.
fn join(data: &[u8], oob: &[u8]) -> Vec<u8> {
    data.chunks(PAGE).zip(oob.chunks(OOB)).flat_map(|(page, oob)| [page, oob].concat()).collect()
}

/// The opposite: data and out-of-band bytes.
fn split(image: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let pages = || image.chunks(PAGE + OOB);
    (
        pages().flat_map(|page| &page[..PAGE]).copied().collect(),
        pages().flat_map(|page| &page[PAGE..]).copied().collect(),
    )
}

/// Reads and writes whatever there is; errors are answers.
fn use_everything(rig: &Rig, ubi: &Ubi) {
    let mut data = vec![0; BLOCK];
    for info in ubi.volumes() {
        let Ok(volume) = ubi.open(info.id) else { continue };
        let bytes = info.leb_bytes.min(BLOCK as u32) as usize;
        for leb in 0..info.lebs {
            let _ = volume.read(leb, 0, &mut data[..bytes]);
        }
        let _ = volume.change(0, &[1; PAGE]);
        let _ = volume.unmap(info.lebs - 1);
        let _ = volume.update(&[2; 3 * PAGE]);
    }
    let _ = ubi.make_volume(&VolumeRequest::new("new", VolumeKind::Dynamic, VolumeSize::AllAvailable));
    rig.sleep(ubi, 1);
    let _ = ubi.flush();
    ubi.detach();
}

/// Tells which image it was when something panics.
struct Place(u64);

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("image {}", self.0);
        }
    }
}

#[test]
fn a_damaged_image_attaches_or_is_refused() {
    let original = image();
    let geometry = rig().nand.with_chip(|chip| chip.geometry());
    let (mut attached, mut refused) = (0, 0);
    for seed in 0..3_000 {
        let _place = Place(seed);
        let mut random = Random(seed);
        let (mut data, mut oob) = (original.clone(), vec![0xFF; original.len() / PAGE * OOB]);
        let count = 1 + random.below(4) as u32;
        if random.below(2) == 0 {
            let mut image = join(&data, &oob);
            for mutation in mutate::choose(&image, geometry, &mut random, count) {
                mutate::apply(&mut image, geometry, &mutation);
            }
            (data, oob) = split(&image);
        } else {
            (0..count).for_each(|_| change_field(&mut data, &mut random));
        }
        if random.below(4) != 0 {
            reseal(&mut data);
        }
        let rig = load_into(rig(), &join(&data, &oob), WITH_OOB);
        match Ubi::attach(rig.mtd.clone(), &rig.options) {
            Ok(ubi) => {
                attached += 1;
                use_everything(&rig, &ubi);
                if let Ok(ubi) = Ubi::attach(rig.mtd.clone(), &rig.options) {
                    use_everything(&rig, &ubi);
                }
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
        assert!(rig.sim.total().operations() < OPERATIONS_MAX);
    }
    assert!(attached > 500 && refused > 500, "{attached} attached, {refused} refused");
}

#[test]
fn foreign_data_are_not_overwritten() {
    let rig = load(&content(1, 1, BLOCK * BLOCKS as usize));
    assert_eq!(
        Ubi::attach(rig.mtd.clone(), &rig.options).map(|_| ()),
        Err(AttachError::VolumeTable("the partition is not empty, and no block holds the table"))
    );
    assert_eq!(rig.sim.total().page_programs + rig.sim.total().erases, 0);
}

#[test]
fn a_block_of_another_image_is_refused() {
    let mut image = image();
    image[5 * BLOCK + 24] ^= 1;
    reseal(&mut image);
    let rig = load(&image);
    let refused = Ubi::attach(rig.mtd.clone(), &rig.options).map(|_| ());
    assert!(matches!(refused, Err(AttachError::Block { peb: 5, .. })), "{refused:?}");
}

#[test]
fn a_block_without_an_erase_counter_gets_the_mean() {
    let mut image = image();
    let counter = |block: usize, image: &[u8]| u32::from_be_bytes(image[block * BLOCK + 12..][..4].try_into().unwrap());
    let sum: u32 = (0..BLOCKS as usize).filter(|&block| block != 5).map(|block| counter(block, &image)).sum();
    image[5 * BLOCK..5 * BLOCK + 64].fill(0x55);
    let rig = load(&image);
    let ubi = rig.attach();
    assert_eq!(ubi.erase_counters()[5], Some(sum / (BLOCKS - 1)));
}

#[test]
fn a_valid_block_with_data_and_a_damaged_header_is_kept() {
    let mut image = image();
    let of_volume_0 = (0..BLOCKS as usize).find(|block| image[block * BLOCK + 256 + 8..][..4] == [0; 4]).unwrap();
    image[of_volume_0 * BLOCK + 256 + 20] ^= 1;
    // Of fewer than 40 blocks a single one is too much already.
    let refused = load(&image);
    let refused = Ubi::attach(refused.mtd.clone(), &refused.options).map(|_| ());
    assert_eq!(refused, Err(AttachError::Corrupted { corrupted: 1 }));
    let rig = load_into(Rig::small(48), &image, ImageLayout::default());
    let ubi = rig.attach();
    ubi.flush().unwrap();
    assert_eq!(ubi.peb_counts().kept_pebs, 1);
    assert_eq!(ubi.erase_counters()[of_volume_0], None);
    assert_eq!(ubi.available_lebs() + ubi.reserved_lebs(), 48 - 1);
}
