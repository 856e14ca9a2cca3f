//! A temporary file without a name.

#[derive(Debug, Default)]
pub(crate) struct MemoryFile(Vec<u8>);

impl MemoryFile {
    /// Bytes that there were to read.
    pub fn read(&self, into: &mut [u8], at: usize) -> usize {
        let from = self.0.get(at..).unwrap_or_default();
        let count = from.len().min(into.len());
        into[..count].copy_from_slice(&from[..count]);
        count
    }

    pub fn write(&mut self, data: &[u8], at: usize) {
        let end = at + data.len();
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        self.0[at..end].copy_from_slice(data);
    }

    pub fn truncate(&mut self, bytes: usize) {
        self.0.truncate(bytes);
    }

    pub fn bytes(&self) -> usize {
        self.0.len()
    }
}
