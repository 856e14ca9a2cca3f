//! NOR as Linux drives it: times to the nanosecond, erases that others interrupt, power cuts in their middle.

use ffslab_flash::{NorFlash, NorProgram, NorRead, NorTiming, Torn};
use ffslab_mtd::nor::{Commands, MemoryNor, NorBus, NorDriver, NorPartition, ParallelNor, SerialNor};
use ffslab_mtd::spi_nand::{Bus, ReadCommand, Waiting};
use ffslab_mtd::{Mtd, MtdError, OpCost};
use ffslab_sim::{PowerMilliwatt, Sim, SimConfig};

const BLOCK_BYTES: u32 = 4096;

fn cells(unit_bytes: u32) -> NorTiming {
    NorTiming {
        read: NorRead::Words { word_bytes: 2, access_ns: 100, page: None },
        load_ps_per_byte: 50_000,
        program: NorProgram { unit_bytes, unit_ns: 400_000, least_bytes: 1, least_ns: 30_000 },
        erase_ns: 45_000_000,
        suspend_ns: Some(20_000),
    }
}

fn free() -> OpCost {
    OpCost::default()
}

/// 10 ns a clock: 80 ns a byte over one line, 20 ns over four. 1 us a transfer.
fn serial() -> NorBus {
    let bus = Bus {
        clock_hz: 100_000_000,
        transfer_overhead_ns: 1_000,
        copy_ps_per_byte: 0,
        transfer_max_bytes: u32::MAX,
        waiting: Waiting::Polls,
    };
    NorBus::Serial(SerialNor {
        bus,
        read: ReadCommand::over(4),
        address_bytes: 3,
        program_address_lines: 1,
        program_data_lines: 1,
        page_bytes: 256,
    })
}

fn parallel(commands: Commands) -> NorBus {
    NorBus::Parallel(ParallelNor { commands, cycle_ns: 100, unit_bytes: 64, has_write_buffer: true })
}

fn nor(bus: NorBus, unit_bytes: u32) -> (Sim, Mtd) {
    let sim = Sim::new(SimConfig { tick_rate_hz: 1_000, ..SimConfig::default() });
    let chip = NorFlash::new(sim.clone(), BLOCK_BYTES, 8);
    let driver = NorDriver { bus, read: free(), program: free(), erase: free() };
    (sim, NorPartition::of_chip(chip, cells(unit_bytes), driver, 2..8).unwrap().into())
}

fn took(sim: &Sim, act: impl FnOnce()) -> u64 {
    let began_ns = sim.now_ns();
    act();
    sim.now_ns() - began_ns
}

#[test]
fn serial_operations_take_their_transfers_and_polls() {
    let (sim, mtd) = nor(serial(), 256);
    // The command, three bytes of address and eight clocks, then four lines.
    let read_ns = took(&sim, || _ = mtd.read(0, &mut [0; 1000]).unwrap());
    assert_eq!(read_ns, 1_000 + 80 + 240 + 80 + 1000 * 20);
    // WRITE ENABLE, the program, the data, and polls of 1,160 ns until 400 us are over.
    let polls_ns = |busy_ns: u64| busy_ns.div_ceil(1_160) * 1_160;
    let head_ns = 1_080 + 1_320;
    assert_eq!(took(&sim, || mtd.write(256, &[0; 256]).unwrap()), head_ns + 256 * 80 + polls_ns(400_000));
    assert_eq!(took(&sim, || mtd.write(1024, &[0; 1]).unwrap()), head_ns + 80 + polls_ns(30_000));
    // Across a border of pages: two programs.
    let two_ns = took(&sim, || mtd.write(1024 + 255, &[0; 2]).unwrap());
    assert_eq!(two_ns, 2 * (head_ns + 80 + polls_ns(30_000)));
    // WRITE ENABLE, the erase, polls, WRITE DISABLE.
    assert_eq!(took(&sim, || mtd.erase(0).unwrap()), 1_080 + 1_320 + polls_ns(45_000_000) + 1_080);
    let done = sim.total();
    assert_eq!((done.page_reads, done.page_programs, done.erases), (1, 4, 1));
    assert_eq!((done.bus_out_bytes, done.bus_in_bytes), (1000, 259));
    assert_eq!((mtd.erase_counts(), mtd.capabilities().write_buffer_bytes), (vec![1, 0, 0, 0, 0, 0], 256));
}

/// What the controller cannot send at once is a transfer, and a program, of its own.
#[test]
fn a_short_fifo_makes_more_programs() {
    let NorBus::Serial(serial) = serial() else { unreachable!() };
    let short = SerialNor { bus: Bus { transfer_max_bytes: 64, ..serial.bus }, ..serial };
    let (sim, mtd) = nor(NorBus::Serial(short), 256);
    mtd.write(0, &[0; 256]).unwrap();
    mtd.read(0, &mut [0; 256]).unwrap();
    assert_eq!((sim.total().page_programs, sim.total().page_reads), (4, 4));
}

#[test]
fn parallel_operations_take_cycles_and_looks() {
    let (sim, mtd) = nor(parallel(Commands::Intel), 64);
    assert_eq!(took(&sim, || _ = mtd.read(0, &mut [0; 100]).unwrap()), 200 + 50 * 100);
    assert_eq!(took(&sim, || mtd.write(0, &[0; 64]).unwrap()), 400 + 64 * 50 + 400_000);
    // 45 ms: half of it and a tick, then two ticks at a time.
    let began_ns = sim.now_ns();
    mtd.erase(0).unwrap();
    let asleep_ns = (began_ns + 300) / 1_000_000 * 1_000_000 + 24_000_000;
    assert_eq!(sim.now_ns(), asleep_ns + 22_000_000);
}

/// `cfi_intelext_writev` fills the buffer from both parts, all others write them one by one.
#[test]
fn only_intels_driver_gathers_parts() {
    let gathered = |bus, unit| {
        let (sim, mtd) = nor(bus, unit);
        mtd.write_parts(60, [&[0; 12], &[0; 40]]).unwrap();
        let mut found = [0xFF; 53];
        mtd.read(60, &mut found).unwrap();
        assert_eq!((found[..52].iter().all(|&byte| byte == 0), found[52]), (true, 0xFF));
        sim.total().page_programs
    };
    assert_eq!(gathered(parallel(Commands::Intel), 64), 2);
    assert_eq!(gathered(parallel(Commands::Amd), 64), 3);
    assert_eq!(gathered(serial(), 256), 2);
}

#[test]
fn others_interrupt_an_erase_where_the_chip_and_its_driver_can() {
    let (sim, mtd) = nor(parallel(Commands::Amd), 64);
    let block = u64::from(BLOCK_BYTES);
    mtd.write(2 * block, &[7]).unwrap();
    let began_ns = sim.now_ns();
    let seen_ns = mtd.begin_erase(0).unwrap().unwrap();
    assert!(seen_ns > began_ns + 45_000_000 && sim.now_ns() < began_ns + 1_000);
    let ends_ns = mtd.erase_goes_on(0).unwrap();
    assert_eq!((ends_ns, mtd.erase_goes_on(block)), (sim.now_ns() + 45_000_000, None));
    // A read of another block waits for the suspension alone, and the erase ends as much later.
    let mut found = [0];
    let read_ns = took(&sim, || _ = mtd.read(2 * block, &mut found).unwrap());
    assert_eq!((read_ns, found), (20_000 + 100 + 200, [7]));
    assert_eq!(mtd.erase_goes_on(0), Some(ends_ns + read_ns));
    // A read of the same block waits for its end.
    mtd.read(0, &mut found).unwrap();
    assert_eq!((sim.now_ns(), found), (ends_ns + read_ns + 300, [0xFF]));
    assert_eq!(mtd.erase_goes_on(0), None);
}

/// Drivers of serial chips hold a lock: everybody waits.
#[test]
fn nobody_interrupts_an_erase_of_a_serial_chip() {
    let (sim, mtd) = nor(serial(), 256);
    mtd.begin_erase(0).unwrap();
    let ends_ns = mtd.erase_goes_on(0).unwrap();
    mtd.read(u64::from(BLOCK_BYTES), &mut [0]).unwrap();
    assert!(sim.now_ns() > ends_ns && sim.total().erases == 1);
}

/// mtdram: programs are counted by the unit, each part by itself; an erase is over at once.
#[test]
fn memory_in_the_place_of_a_chip_takes_no_time() {
    let (sim, memory) = (Sim::new(SimConfig::default()), MemoryNor { unit_bytes: 64 });
    let driver = NorDriver { bus: NorBus::Memory(memory), read: free(), program: free(), erase: free() };
    let chip = NorFlash::new(sim.clone(), BLOCK_BYTES, 8);
    let mtd = Mtd::from(NorPartition::of_chip(chip, memory.cells(), driver, 0..8).unwrap());
    mtd.write_parts(60, [&[0; 12], &[0; 40]]).unwrap();
    mtd.read(0, &mut [0; 1000]).unwrap();
    assert_eq!(mtd.begin_erase(0), Ok(None));
    let done = sim.total();
    assert_eq!((done.page_reads, done.page_programs, done.erases, sim.now_ns()), (1, 3, 1, 0));
    let can = mtd.capabilities();
    assert_eq!((can.in_memory, can.torn_erase_may_keep_start, can.clears_bits_again), (true, false, true));
}

/// Of drivers for chips in the processor's memory only Intel's lets others look there. It takes the bus's time, and is no operation.
#[test]
fn what_stands_in_memory_is_fetched_without_an_operation() {
    let (sim, mtd) = nor(parallel(Commands::Intel), 64);
    mtd.write(0, &[7; 4]).unwrap();
    let mut found = [0; 100];
    assert_eq!(took(&sim, || mtd.fetch(0, &mut found).unwrap()), 50 * 100);
    assert_eq!((found[3], found[4], sim.total().page_reads), (7, 0xFF, 0));
    assert_eq!(nor(serial(), 256).1.fetch(0, &mut found), Err(MtdError::NotSupported));
    assert_eq!(nor(parallel(Commands::Amd), 64).1.fetch(0, &mut found), Err(MtdError::NotSupported));
}

/// The power goes while one block is erased and another one programmed: both are torn.
#[test]
fn an_erase_that_goes_on_ends_with_the_power() {
    for torn in [Torn::Nothing, Torn::Complete, Torn::Partial { seed: 3 }] {
        let (_, mtd) = nor(parallel(Commands::Intel), 64);
        let block = u64::from(BLOCK_BYTES);
        mtd.begin_erase(0).unwrap();
        mtd.cut_power_after(1, torn);
        assert_eq!(mtd.write(block, &[0; 8]), Err(MtdError::PowerCut));
        let mut found = vec![0; BLOCK_BYTES as usize];
        mtd.look(0, &mut found).unwrap();
        assert!(found.iter().any(|&byte| byte != 0xFF));
        mtd.restart();
        assert_eq!(mtd.erase_goes_on(0), None);
        mtd.erase(0).unwrap();
    }
}

#[test]
fn power_is_charged_while_operations_last() {
    let sim = Sim::new(SimConfig::default());
    let chip = NorFlash::new(sim.clone(), BLOCK_BYTES, 8);
    let of_memory = |memory| OpCost { overhead_ns: 0, power: PowerMilliwatt { cpu: 0.0, memory } };
    let driver = NorDriver { bus: serial(), read: of_memory(10.0), program: of_memory(20.0), erase: of_memory(30.0) };
    let mtd: Mtd = NorPartition::of_chip(chip, cells(256), driver, 0..8).unwrap().into();
    let read_ns = took(&sim, || _ = mtd.read(0, &mut [0; 64]).unwrap());
    let program_ns = took(&sim, || mtd.write(0, &[0; 64]).unwrap());
    let erase_ns = took(&sim, || mtd.erase(0).unwrap());
    let mut spent = ffslab_sim::Energy::default();
    for (memory, ns) in [(10.0, read_ns), (20.0, program_ns), (30.0, erase_ns)] {
        spent.add(PowerMilliwatt { cpu: 0.0, memory }, ns);
    }
    assert_eq!(sim.energy(), spent);
}
