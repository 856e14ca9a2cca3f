//! Read retry: a page that ECC could not correct is read again with shifted voltages, mode by mode, if the part has that
//! (`nand_do_read_ops` and `nand_setup_read_retry` of Linux 6.1 `drivers/mtd/nand/raw/nand_base.c`).
//!
//! **Leaves out.** The time of the command that sets a mode, about a microsecond beside the read.

use crate::error::MtdError;
use crate::nand::{Core, EccResult};

impl Core {
    /// Reads again until ECC can correct what is read or no mode is left; the last answer counts, and of the errors only its.
    #[cold]
    pub(crate) fn retry(
        &mut self,
        failed: EccResult,
        mut again: impl FnMut(&mut Core) -> Result<EccResult, MtdError>,
    ) -> Result<EccResult, MtdError> {
        let modes = self.chip().ageing().map_or(0, |model| model.retry_modes);
        let mut result = Ok(failed);
        for mode in 1..modes {
            self.forget_failures();
            self.set_retry_mode(mode);
            result = again(self);
            if !matches!(result, Ok(EccResult { failed: true, .. })) {
                break;
            }
        }
        if modes > 1 {
            self.set_retry_mode(0);
        }
        result
    }
}
