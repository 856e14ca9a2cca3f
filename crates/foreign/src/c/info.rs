//! What C code tells of a name.

/// `struct ffslab_paths_info` of `paths.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Info {
    is_directory: u32,
    pub size_bytes: u64,
    name: [u8; 256],
}

impl Info {
    pub const EMPTY: Info = Info { is_directory: 0, size_bytes: 0, name: [0; 256] };

    pub fn is_directory(&self) -> bool {
        self.is_directory != 0
    }

    pub fn name(&self) -> &[u8] {
        let end = self.name.iter().position(|&byte| byte == 0).unwrap_or(self.name.len());
        &self.name[..end]
    }
}
