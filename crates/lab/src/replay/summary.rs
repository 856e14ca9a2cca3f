//! What a replay tells about itself.

use ffslab_workload::trace::{Call, Trace};

/// What a replay did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub calls: u64,
    /// Number of calls that ended differently from the recording.
    pub different: u64,
    /// The first few of them: line of the trace, call, both results.
    pub examples: Vec<String>,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Calls that began later than their arrival in the recording, because those before them took longer here.
    pub late_n: u64,
    /// By how much the latest of them was late.
    pub latest_ns: u64,
}

/// Number of [`Summary::examples`].
pub const EXAMPLES_MAX: usize = 5;

impl Summary {
    /// Sentences for the report: how often the replay differed from the recording, and which calls of the trace could
    /// not be replayed.
    pub fn notes(&self, trace: &Trace) -> Vec<String> {
        let mut notes = Vec::new();
        let name = trace.path.file_name().unwrap_or_default().display();
        if self.different > 0 {
            notes.push(format!(
                "{} of {} calls of {name} ended differently from the recording; first: {}",
                grouped(self.different),
                grouped(self.calls),
                self.examples.join("; ")
            ));
        }
        if self.late_n > 0 {
            notes.push(format!(
                "{} of {} calls of {name} began later than recorded, by up to {} ms, because those before them took longer here",
                grouped(self.late_n),
                grouped(self.calls),
                grouped(self.latest_ns.div_ceil(1_000_000))
            ));
        }
        if !trace.ignored.is_empty() {
            let listed: Vec<String> = trace.ignored.iter().map(|(why, n)| format!("{why} ({})", grouped(*n))).collect();
            notes.push(format!("calls of {name} that are not replayed: {}", listed.join(", ")));
        }
        notes
    }
}

/// What must be said where a file system compresses and nothing was said of the bytes that the recording does not hold.
pub fn without_contents(trace: &Trace) -> String {
    format!(
        "{} holds no contents, so what compression saves cannot be judged: the replay wrote random bytes, which nothing shrinks; \
         `content` of the step, --content of `ffslab replay`, says what the program's are like",
        trace.path.file_name().unwrap_or_default().display()
    )
}

/// The number in decimal, with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Unix name of a call.
pub fn call_name(call: &Call) -> &'static str {
    match call {
        Call::Open { .. } => "open",
        Call::Close { .. } => "close",
        Call::Read { .. } => "read",
        Call::Write { .. } => "write",
        Call::ReadAt { .. } => "pread",
        Call::WriteAt { .. } => "pwrite",
        Call::Seek { .. } => "lseek",
        Call::Fsync { data_only: false, .. } => "fsync",
        Call::Fsync { data_only: true, .. } => "fdatasync",
        Call::Trim { .. } => "trim",
        Call::Sync => "sync",
        Call::SyncFs { .. } => "syncfs",
        Call::Truncate { .. } => "truncate",
        Call::Rename { .. } => "rename",
        Call::Unlink { .. } => "unlink",
        Call::MakeDirectory { .. } => "mkdir",
        Call::RemoveDirectory { .. } => "rmdir",
        Call::Link { .. } => "link",
        Call::Symlink { .. } => "symlink",
        Call::ReadLink { .. } => "readlink",
        Call::Stat { .. } => "stat",
        Call::ListDirectory { .. } => "getdents",
        Call::ChangeMode { .. } => "chmod",
        Call::ChangeOwner { .. } => "chown",
        Call::ChangeTimes { .. } => "utime",
        Call::StatFs { .. } => "statfs",
        Call::Advise { .. } => "fadvise",
    }
}
