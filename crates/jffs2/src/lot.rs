//! The lot by which garbage collection draws a block.

/// From this number on a clean block is collected, so that live data move once in a while and wear spreads.
pub const LOT_OF_CLEAN: u32 = 126;

/// By what the block to collect is drawn: the tick counter. Linux and RTEMS have nothing else (`jiffies % 128`), since there
/// collecting a block takes time. Here a medium may take none below a caller whose code takes none, as RTEMS with `board =
/// "none"`; while the clock stands at a tick that draws clean blocks, whose collection gives no space, no other block would
/// ever have its turn. So each further clean block that is drawn at the same instant counts as a tick.
#[derive(Default)]
pub(crate) struct Lot {
    drawn_at_ns: u64,
    clean_draws: u32,
}

impl Lot {
    /// A number below 128.
    pub fn draw(&mut self, ticks: u32, now_ns: u64) -> u32 {
        if self.drawn_at_ns != now_ns {
            *self = Lot { drawn_at_ns: now_ns, clean_draws: 0 };
        }
        let lot = ticks.wrapping_add(self.clean_draws) % 128;
        self.clean_draws += u32::from(lot >= LOT_OF_CLEAN);
        lot
    }
}
