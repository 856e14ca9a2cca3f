//! A medium from outside: it counts what file systems ask for and passes it on to another one.

use std::sync::atomic::{AtomicU64, Ordering};

use ffslab_flash::{Torn, Traffic};
use ffslab_machine::media::{self, Descriptor};
use ffslab_mtd::{Capabilities, Corrected, Medium, MediumImage, Mtd, MtdError, RestoreError, SaveError};
use ffslab_sim::Sim;
use std::rc::Rc;

pub static COUNTED_NAND: Descriptor = Descriptor {
    name: "counted-nand",
    title: "raw NAND whose requests are counted",
    about: "raw NAND that counts what file systems ask for",
    of_parts: &[],
    keys: media::NAND.keys,
    on_linux: Some(|spec, sim| {
        let make = media::NAND.on_linux.expect("Linux stands on NAND");
        let counted: Rc<dyn Medium> = Rc::new(Counted(make(spec, sim)?));
        Ok(counted.into())
    }),
    on_rtems: None,
};

/// Requests of all such media since the program began.
pub static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Makes the medium known to the laboratory, once.
pub fn register() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| media::register(&COUNTED_NAND).expect("no medium has this name"));
}

struct Counted(Mtd);

impl Counted {
    fn asked(&self) -> &Mtd {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        &self.0
    }
}

impl Medium for Counted {
    fn sim(&self) -> &Sim {
        self.0.sim()
    }

    fn capabilities(&self) -> Capabilities {
        *self.0.capabilities()
    }

    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        self.asked().read(at, data)
    }

    fn reads_erased(&self, at: u64, buffer: &mut [u8]) -> Result<bool, MtdError> {
        self.asked().reads_erased(at, buffer)
    }

    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.asked().write(at, data)
    }

    fn write_partial(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.asked().write_partial(at, data)
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        self.asked().erase(at)
    }

    fn read_page_with_oob(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        self.asked().read_page_with_oob(at, data, free)
    }

    fn write_page_with_oob(&self, at: u64, data: &[u8], free: &[u8]) -> Result<(), MtdError> {
        self.asked().write_page_with_oob(at, data, free)
    }

    fn read_oob_free(&self, at: u64, free: &mut [u8]) -> Result<(), MtdError> {
        self.asked().read_oob_free(at, free)
    }

    fn write_oob_free(&self, at: u64, free: &[u8]) -> Result<(), MtdError> {
        self.asked().write_oob_free(at, free)
    }

    fn is_bad(&self, at: u64) -> bool {
        self.0.is_bad(at)
    }

    fn mark_bad(&self, at: u64) -> Result<(), MtdError> {
        self.asked().mark_bad(at)
    }

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        self.0.look(at, data)
    }

    fn look_at_written_pages(&self, at: u64) -> Result<u32, MtdError> {
        self.0.look_at_written_pages(at)
    }

    fn traffic(&self) -> Traffic {
        self.0.traffic()
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.0.erase_counts()
    }

    fn formatting_erases(&self) -> Vec<u32> {
        self.0.formatting_erases()
    }

    fn programmed_pages(&self) -> Vec<u32> {
        self.0.programmed_pages()
    }

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.0.cut_power_after(operations, torn);
    }

    fn is_on(&self) -> bool {
        self.0.is_on()
    }

    fn restart(&self) {
        self.0.restart();
    }

    fn modifying_operations(&self) -> u64 {
        self.0.modifying_operations()
    }

    fn snapshot(&self) -> MediumImage {
        self.0.snapshot()
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        self.0.restore(held)
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SaveError> {
        self.0.image(oob)
    }
}
