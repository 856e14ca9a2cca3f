//! Times of devices: several dies that work at once, collection while nobody waits.

use crate::support;

use ffslab_flash::Faults;
use ffslab_ftl::flash::OnMedium;
use ffslab_ftl::{BlockDevice, Ftl, FtlConfig, PageMap, Victim};
use ffslab_mtd::spi_nand::Layout;
use ffslab_mtd::striped::Stripes;
use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg32;
use support::{below, medium, Setup, BLOCKS, LOGICAL_PAGES, PAGE_BYTES};

/// What is collected while nobody waits is not collected while somebody does.
#[test]
fn a_device_that_collects_while_it_is_idle_lets_nobody_wait() {
    let slowest_ns = |idle_free_blocks: Option<u32>| {
        let config = FtlConfig { idle_free_blocks, ..FtlConfig::new(LOGICAL_PAGES) };
        let mut ftl = PageMap::format(OnMedium::new(medium(&Faults::default())).unwrap(), config).unwrap();
        let sim = ftl.flash().mtd().sim().clone();
        let (mut random, mut slowest_ns) = (Pcg32::seed_from_u64(2), 0);
        for stamp in 0..1000 {
            let before_ns = sim.now_ns();
            ftl.write(below(&mut random, u64::from(LOGICAL_PAGES)) as u32, &[stamp as u8; PAGE_BYTES as usize], false)
                .unwrap();
            slowest_ns = slowest_ns.max(sim.now_ns() - before_ns);
            while Ftl::idle(&mut ftl).unwrap() {}
        }
        assert_eq!(ftl.statistics().idle_pages > 0, idle_free_blocks.is_some());
        slowest_ns
    };
    let (busy_ns, idle_ns) = (slowest_ns(None), slowest_ns(Some(6)));
    assert!(idle_ns < 350_000 && busy_ns > 1_000_000, "{busy_ns} ns, {idle_ns} ns");
}

/// Four dies on two channels: each program occupies its channel for the transfer and its die for the rest.
#[test]
fn dies_work_at_the_same_time() {
    let written_ns = |stripes: Option<Stripes>| {
        let setup = Setup { stripes, buffer_pages: 0, ..Setup::new(Victim::Greedy) };
        let mtd = setup.medium(&Faults::default());
        let mut device = setup.format(&mtd).unwrap();
        let before_ns = mtd.sim().now_ns();
        device.write(0, &vec![7; 16 * PAGE_BYTES as usize]).unwrap();
        device.flush().unwrap();
        mtd.sim().now_ns() - before_ns
    };
    let stripes = |channels, dies_per_channel, planes| Some(Stripes { channels, dies_per_channel, planes });
    let (program_ns, page_bus_ns) = (200_000, (2048 + 64) * 50);
    assert_eq!(written_ns(None), 16 * (program_ns + page_bus_ns));
    // Each die takes four pages, and the second die of a channel begins one transfer later.
    assert_eq!(written_ns(stripes(2, 2, 1)), page_bus_ns + 4 * (page_bus_ns + program_ns));
    let read_ns = |stripes: Option<Stripes>| {
        let setup = Setup { stripes, buffer_pages: 0, ..Setup::new(Victim::Greedy) };
        let mtd = setup.medium(&Faults::default());
        let mut device = setup.format(&mtd).unwrap();
        let mut data = vec![7; 16 * PAGE_BYTES as usize];
        device.write(0, &data).unwrap();
        device.flush().unwrap();
        let before_ns = mtd.sim().now_ns();
        device.read(0, &mut data).unwrap();
        assert_eq!(data, vec![7; 16 * PAGE_BYTES as usize]);
        mtd.sim().now_ns() - before_ns
    };
    assert_eq!(read_ns(None), 16 * (25_000 + page_bus_ns));
    // The transfers of the second die of a channel hide its reads: the channel is never idle after the first read.
    assert_eq!(read_ns(stripes(2, 2, 1)), 25_000 + 8 * page_bus_ns);
    // Two planes of half a page each, one after the other over the bus, are programmed together.
    assert_eq!(written_ns(stripes(1, 1, 2)), 16 * (program_ns + (2048 + 2 * 64) * 50));
}

/// With the map on flash a block is collected at once, and its pages count as moved while nobody waited, too.
#[test]
fn pages_that_dftl_moves_while_it_is_idle_are_counted_as_such() {
    let config = FtlConfig {
        idle_free_blocks: Some(9),
        gc_free_blocks: 5,
        map_cache_entries_count: Some(16),
        ..FtlConfig::new(LOGICAL_PAGES - 20)
    };
    let mut ftl = PageMap::format(OnMedium::new(medium(&Faults::default())).unwrap(), config).unwrap();
    let mut random = Pcg32::seed_from_u64(2);
    for stamp in 0..600 {
        let number = below(&mut random, u64::from(LOGICAL_PAGES - 20)) as u32;
        ftl.write(number, &[stamp as u8; PAGE_BYTES as usize], false).unwrap();
        while Ftl::idle(&mut ftl).unwrap() {}
    }
    let counts = ftl.statistics();
    assert!(counts.idle_pages > 0 && counts.idle_pages <= counts.gc_pages, "{counts:?}");
}

/// The operations of a write and a read are those of docs/spi-nand.md, with the out-of-band area in which the record stands; a mount asks
/// each block for its mark, with the ECC off.
#[test]
fn a_layer_on_spi_nand_takes_what_the_serial_bus_takes() {
    let layout = Layout::WinbondW25m02gv;
    let setup = Setup { serial: Some(layout), buffer_pages: 0, ..Setup::new(Victim::Greedy) };
    let mtd = setup.medium(&Faults::default());
    let mut device = setup.format(&mtd).unwrap();
    let sim = mtd.sim().clone();
    let mut data = vec![7; 2 * PAGE_BYTES as usize];
    device.write(0, &data).unwrap();
    let before_ns = sim.now_ns();
    device.write(0, &data).unwrap();
    // WRITE ENABLE 2 + 0.1, PROGRAM LOAD 2 + 0.3 + 2112 x 0.025, PROGRAM EXECUTE 2 + 0.4, the wait for 200: 75 + 2.3 + 8 x (15 + 2.3).
    let program_ns = 2_100 + 2_300 + 52_800 + 2_400 + 215_700;
    assert_eq!(sim.now_ns() - before_ns, 2 * program_ns);
    let before_ns = sim.now_ns();
    device.read(0, &mut data).unwrap();
    // PAGE READ 2 + 0.4, the wait for 25: 6 + 2.3 + 3 x (5 + 2.3), READ FROM CACHE 2 + 0.4 + 2112 x 0.025.
    let fetch_ns = 2_400 + 30_200 + 2_400;
    assert_eq!(sim.now_ns() - before_ns, 2 * (fetch_ns + 52_800));
    drop(device);
    mtd.restart();
    let before_ns = sim.now_ns();
    let mounted = setup.mount(&mtd).unwrap();
    let statistics = *mounted.ftl().statistics();
    assert_eq!(statistics.mount_ns, sim.now_ns() - before_ns);
    // 24 marks and 24 records at least.
    assert!(statistics.mount_ns >= 2 * u64::from(BLOCKS) * (fetch_ns + 64 * 25), "{} ns", statistics.mount_ns);
}
