//! Whole files through system calls, for tests that count the cost of these calls.

use ffslab_linux::{Fd, OpenFlags, Vfs};
use ffslab_system::Calls;

/// A machine with a mounted file system. Every call must succeed; an error ends the test.
pub trait Files {
    fn vfs(&mut self) -> &mut Vfs;

    fn open_new(&mut self, path: &str) -> Fd {
        let flags = OpenFlags { read: true, write: true, create: true, truncate: true, ..OpenFlags::default() };
        self.vfs().open(path.as_bytes(), flags, 0o644).unwrap()
    }

    fn open(&mut self, path: &str) -> Fd {
        self.vfs().open(path.as_bytes(), OpenFlags { read: true, ..OpenFlags::default() }, 0).unwrap()
    }

    /// Writes a file of `bytes`, with requests of `request` bytes. Its content shows where it belongs.
    fn create(&mut self, path: &str, bytes: usize, request: usize) {
        let fd = self.open_new(path);
        let mut at = 0;
        while at < bytes {
            let piece = request.min(bytes - at);
            self.vfs().pwrite(fd, &content(at, piece), at as u64).unwrap();
            at += piece;
        }
        self.vfs().close(fd).unwrap();
    }

    fn read_all(&mut self, path: &str) -> Vec<u8> {
        let size = self.vfs().stat(path.as_bytes()).unwrap().size_bytes as usize;
        let fd = self.open(path);
        let mut data = vec![0; size];
        let read = self.vfs().pread(fd, &mut data, 0).unwrap();
        self.vfs().close(fd).unwrap();
        assert_eq!(read, size);
        data
    }
}

/// Bytes that depend on their offset.
pub fn content(at: usize, bytes: usize) -> Vec<u8> {
    (at..at + bytes).map(|i| (i as u32).wrapping_mul(2_654_435_761).rotate_left(9) as u8).collect()
}
