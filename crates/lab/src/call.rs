//! A measured call.

macro_rules! ops {
    ($($(#[$meta:meta])* $Variant:ident = $text:literal),+ $(,)?) => {
        /// What a measured call did.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum CallOp { $($(#[$meta])* $Variant),+ }

        impl CallOp {
            /// All values, in the order of their numbers.
            pub const ALL: &'static [CallOp] = &[$(CallOp::$Variant),+];

            pub fn name(self) -> &'static str {
                match self { $(CallOp::$Variant => $text),+ }
            }
        }
    };
}

ops! {
    Read = "read",
    Write = "write",
    /// A write at the end of a file with the sync that follows it; for `postmark`, open, writes and close.
    Append = "append",
    /// The calls that make a file: open, writes, perhaps fsync, and close.
    Create = "create",
    Stat = "stat",
    Unlink = "unlink",
    Open = "open",
    Close = "close",
    /// Of one file, or of all.
    Sync = "sync",
    /// `mtd_loop` programs a page or erases a block.
    Program = "program",
    Erase = "erase",
    /// Any other call.
    Other = "other",
    Rename = "rename",
    /// Hard and symbolic links.
    Link = "link",
    Truncate = "truncate",
    Mkdir = "mkdir",
    Rmdir = "rmdir",
    Readdir = "readdir",
}

/// One measured call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub op: CallOp,
    /// Number of the file, from [`crate::requests::RequestLog::file_index`].
    pub file: u32,
    pub offset_bytes: u64,
    /// Bytes that the call moved.
    pub bytes: u64,
    pub start_ns: u64,
    pub latency_ns: u64,
}
