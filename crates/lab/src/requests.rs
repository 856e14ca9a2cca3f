//! One row per measured call, in columns: runs make millions of them.

use std::collections::BTreeMap;

macro_rules! ops {
    ($($(#[$meta:meta])* $Variant:ident = $text:literal),+ $(,)?) => {
        /// What a measured call did.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum CallOp { $($(#[$meta])* $Variant),+ }

        impl CallOp {
            pub fn name(self) -> &'static str {
                match self { $(CallOp::$Variant => $text),+ }
            }
        }
    };
}

ops! {
    Read = "read",
    Write = "write",
    /// A write at the end of a file with the sync that follows it; of `postmark` open, writes, close.
    Append = "append",
    /// open, writes, perhaps fsync, close of a new file.
    Create = "create",
    Stat = "stat",
    Unlink = "unlink",
    Open = "open",
    Close = "close",
    Sync = "sync",
    /// Of `mtd_loop`: a page, a block.
    Program = "program",
    Erase = "erase",
    /// Any other call of a replayed program.
    Other = "other",
}

/// Calls in the order in which they ran. All columns have one length.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    pub step: Vec<u32>,
    /// Number of the call within its step.
    pub i: Vec<u32>,
    pub op: Vec<CallOp>,
    /// Index into `file_names`.
    pub file: Vec<u32>,
    pub offset_bytes: Vec<u64>,
    pub bytes: Vec<u64>,
    /// Virtual time since the start of the measurement.
    pub start_ns: Vec<u64>,
    pub latency_ns: Vec<u64>,
    pub file_names: Vec<String>,
    known: BTreeMap<String, u32>,
}

/// One measured call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub op: CallOp,
    /// From [`RequestLog::file_index`].
    pub file: u32,
    pub offset_bytes: u64,
    /// Bytes that the call moved.
    pub bytes: u64,
    pub start_ns: u64,
    pub latency_ns: u64,
}

impl RequestLog {
    pub fn len(&self) -> usize {
        self.step.len()
    }

    pub fn is_empty(&self) -> bool {
        self.step.is_empty()
    }

    /// The number under which a file name is kept.
    pub fn file_index(&mut self, name: &str) -> u32 {
        if let Some(&index) = self.known.get(name) {
            return index;
        }
        let index = self.file_names.len() as u32;
        self.file_names.push(name.to_string());
        self.known.insert(name.to_string(), index);
        index
    }

    pub fn push(&mut self, step: u32, i: u32, call: Call) {
        self.step.push(step);
        self.i.push(i);
        self.op.push(call.op);
        self.file.push(call.file);
        self.offset_bytes.push(call.offset_bytes);
        self.bytes.push(call.bytes);
        self.start_ns.push(call.start_ns);
        self.latency_ns.push(call.latency_ns);
    }
}
