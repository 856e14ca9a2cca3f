//! Hashes of what determines a result, so that it can be kept and found again.

use ffslab_images::file::read_file;
use ffslab_machine::spec::{ImageOf, MachineSpec};
use sha2::{Digest, Sha256};
use std::fmt;

/// A hash that is fed part by part. The length of each part goes in front of it, so that no two lists of parts look alike.
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    /// `build` identifies the build of the program: another one may come to other results.
    pub(crate) fn of_build(build: &str) -> Fingerprint {
        let mut made = Fingerprint(Sha256::new());
        made.bytes(build.as_bytes());
        made
    }

    pub(crate) fn bytes(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub(crate) fn number(&mut self, part: u64) {
        self.0.update(part.to_le_bytes());
    }

    /// The debug format holds every field, so that one that is added later changes the hash without work here.
    pub(crate) fn fields(&mut self, part: &impl fmt::Debug) {
        let mut written = Written { hash: &mut self.0, bytes: 0 };
        // Only a `Debug` that fails could end this, and the fields so far are then in the hash.
        let _ = fmt::write(&mut written, format_args!("{part:?}"));
        let bytes = written.bytes;
        self.number(bytes);
    }

    /// A machine, with the content of the images on its media.
    ///
    /// Errors: an image cannot be read.
    pub(crate) fn machine(&mut self, spec: &MachineSpec) -> Result<(), String> {
        self.fields(&spec.without_image());
        for ImageOf { path, oob, autoplace } in spec.images() {
            self.0.update([1, u8::from(oob), u8::from(autoplace)]);
            self.bytes(&read_file(path)?);
        }
        Ok(())
    }

    /// In hexadecimal digits.
    pub(crate) fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Text that is hashed instead of being kept.
struct Written<'a> {
    hash: &'a mut Sha256,
    bytes: u64,
}

impl fmt::Write for Written<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.hash.update(text.as_bytes());
        self.bytes += text.len() as u64;
        Ok(())
    }
}
