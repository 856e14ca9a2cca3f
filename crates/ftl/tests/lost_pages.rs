//! Pages that more bits are wrong in than ECC can correct.

use crate::support;

use ffslab_flash::{Faults, Weak};
use ffslab_ftl::flash::OnMedium;
use ffslab_ftl::{BlockDevice, BufferRule, DeviceError, FtlConfig, FtlError, PageMap, Victim};
use ffslab_mtd::Mtd;
use support::{medium, Setup, LOGICAL_PAGES, PAGE_BYTES};

fn page(stamp: u64) -> Vec<u8> {
    (0..PAGE_BYTES).map(|at| (u64::from(at) * 7 + stamp * 31) as u8).collect()
}

fn set_faults(mtd: &Mtd, faults: &Faults) {
    mtd.nand().unwrap().with_chip(|chip| chip.set_faults(faults)).unwrap();
}

/// Whatever stands on flash has too many wrong bits.
fn lose_all(mtd: &Mtd) {
    let pages = 0..u32::try_from(mtd.size_bytes() / u64::from(PAGE_BYTES)).unwrap();
    let gravepages = pages.map(|number| Weak { number, good_operations: 0 }).collect();
    set_faults(mtd, &Faults { gravepages, ..Faults::default() });
}

#[test]
fn a_page_that_was_lost_stays_lost_when_it_is_moved() {
    // The oldest block is always the next one, so that each page is moved.
    let config = FtlConfig { victim: Victim::Fifo, ..FtlConfig::new(LOGICAL_PAGES) };
    let mut ftl = PageMap::format(OnMedium::new(medium(&Faults::default())).unwrap(), config).unwrap();
    for number in 0..LOGICAL_PAGES {
        ftl.write(number, &page(1), false).unwrap();
    }
    let nand = ftl.flash().mtd().nand().unwrap().clone();
    let mut data = vec![0; PAGE_BYTES as usize];
    let lost = |ftl: &mut PageMap<OnMedium>, data: &mut [u8]| {
        let lost = |number: &u32| matches!(ftl.read(*number, data), Err(FtlError::Uncorrectable { .. }));
        (0..LOGICAL_PAGES).filter(lost).collect::<Vec<u32>>()
    };
    let gravepages = vec![Weak { number: 37, good_operations: 0 }];
    nand.with_chip(|chip| chip.set_faults(&Faults { gravepages, ..Faults::default() })).unwrap();
    let before = lost(&mut ftl, &mut data);
    assert_eq!(before.len(), 1);
    for stamp in 0..600 {
        let number = (stamp * 5 % u64::from(LOGICAL_PAGES)) as u32;
        if number != before[0] {
            ftl.write(number, &page(stamp), false).unwrap();
        }
    }
    nand.with_chip(|chip| chip.set_faults(&Faults::default())).unwrap();
    assert_eq!(lost(&mut ftl, &mut data), before);
    ftl.write(before[0], &page(2), false).unwrap();
    assert_eq!(lost(&mut ftl, &mut data), Vec::<u32>::new());
}

/// A block that leaves the buffer is padded with what is on flash. A page of it that cannot be read any more keeps nobody waiting.
#[test]
fn a_lost_page_does_not_stop_the_rest_of_its_block() {
    let mtd = medium(&Faults::default());
    let setup = Setup { buffer: BufferRule::Bplru, buffer_pages: 2, ..Setup::new(Victim::Greedy) };
    let mut device = setup.format(&mtd).unwrap();
    let per_page = u64::from(PAGE_BYTES / support::SECTOR_BYTES);
    for number in 0..16 {
        device.write(number * per_page, &page(number)).unwrap();
    }
    device.flush().unwrap();
    // What stands on flash is lost; the first page of each block is written anew, so that both blocks leave the buffer.
    lose_all(&mtd);
    for block in [0, 1, 2, 3] {
        device.write(block * 8 * per_page, &page(90 + block)).unwrap();
    }
    device.flush().unwrap();
    set_faults(&mtd, &Faults::default());
    let mut data = vec![0; PAGE_BYTES as usize];
    for block in [0, 1, 2, 3] {
        device.read(block * 8 * per_page, &mut data).unwrap();
        assert!(data == page(90 + block), "block {block}");
    }
}

/// A write of a part of a page, the rest of which cannot be read: somebody is told, the others go on, and a write of the whole page ends it.
#[test]
fn a_part_of_a_lost_page_is_refused_and_blocks_nobody() {
    for (buffer, buffer_pages) in [(BufferRule::Arrival, 0), (BufferRule::Arrival, 2), (BufferRule::Bplru, 2)] {
        let mtd = medium(&Faults::default());
        let setup = Setup { buffer, buffer_pages, ..Setup::new(Victim::Greedy) };
        let mut device = setup.format(&mtd).unwrap();
        let per_page = u64::from(PAGE_BYTES / support::SECTOR_BYTES);
        for number in 0..24 {
            device.write(number * per_page, &page(number)).unwrap();
        }
        device.flush().unwrap();
        lose_all(&mtd);
        let sector = [0xAB; support::SECTOR_BYTES as usize];
        let lost = |answer: Result<(), DeviceError>| {
            assert!(
                matches!(answer, Err(DeviceError::Ftl(FtlError::Uncorrectable { logical_page: 0, .. }))),
                "{buffer:?} of {buffer_pages}: {answer:?}"
            );
        };
        let part = device.write(0, &sector);
        if buffer_pages == 0 {
            lost(part);
        } else {
            // The host learns of it when the page has to leave: by a later write, or by a flush, which writes all others first.
            part.unwrap();
            device.write(9 * per_page, &page(90)).unwrap();
            lost(device.flush());
            device.write(0, &sector).unwrap();
            device.write(10 * per_page, &page(91)).unwrap();
            lost(device.write(17 * per_page, &page(92)));
        }
        // From here on nobody is kept waiting.
        for number in [9, 10, 17] {
            device.write(number * per_page, &page(90 + number)).unwrap();
        }
        device.flush().unwrap();
        device.write(0, &page(7)).unwrap();
        device.flush().unwrap();
        set_faults(&mtd, &Faults::default());
        let mut data = vec![0; PAGE_BYTES as usize];
        for (number, stamp) in [(0, 7), (9, 99), (10, 100), (17, 107)] {
            device.read(number * per_page, &mut data).unwrap();
            assert!(data == page(stamp), "{buffer:?} of {buffer_pages}: page {number}");
        }
    }
}
