//! The steps about extended attributes.

use super::execute::{absolute, as_expected};
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::CallOp;
use ffslab_fs::XattrMode;
use ffslab_workload::steps::{self, XattrFlag};

/// `XATTR_SIZE_MAX`.
const VALUE_BYTES_MAX: u64 = 64 << 10;

type Done = Result<Facts, Stop>;

impl Runner<'_> {
    pub(super) fn set_xattr(&mut self, step: &steps::SetXattr) -> Done {
        let begun_ns = self.call_begins();
        let value = match (&step.value, step.bytes) {
            (Some(text), _) => text.as_bytes(),
            // No kernel looks at more than one byte beyond the limit.
            (None, bytes) => self.content.take(bytes.map_or(0, |bytes| bytes.0.min(VALUE_BYTES_MAX + 1) as usize)),
        };
        let mode = match step.flag {
            None => XattrMode::Any,
            Some(XattrFlag::Create) => XattrMode::Create,
            Some(XattrFlag::Replace) => XattrMode::Replace,
        };
        let result = self.system.setxattr(&absolute(&step.file), step.name.as_bytes(), value, mode);
        let bytes = if result.is_ok() { value.len() as u64 } else { 0 };
        self.call_ends((CallOp::Other, &step.file, 0), begun_ns, bytes);
        let written = as_expected(result, step.fails)?.map_or(0, |()| bytes);
        Ok(Facts { user_written_bytes: written, ..Facts::default() })
    }

    pub(super) fn get_xattr(&mut self, step: &steps::GetXattr) -> Done {
        let path = absolute(&step.file);
        let result = self.call(CallOp::Other, &step.file, |system| system.getxattr(&path, step.name.as_bytes()));
        let read = as_expected(result, step.fails)?.map_or(0, |value| value.len() as u64);
        Ok(Facts { user_read_bytes: read, ..Facts::default() })
    }
}
