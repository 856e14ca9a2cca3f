//! The steps of experiments and measured cases. Keys and meanings are those of the case format; sizes are bytes, times
//! microseconds, file names are relative to the mount point.

// long file: the steps stand in one list, with their keys.

use ffslab_text::quantity::{Bytes, Micros};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) mod about;

macro_rules! steps {
    ($($(#[$meta:meta])* $tag:literal $Variant:ident),+ $(,)?) => {
        /// One step. In a file: a table with the key `step` and the keys of the structure that the variant holds.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "step")]
        pub enum Step {
            $($(#[$meta])* #[serde(rename = $tag)] $Variant($Variant)),+
        }

        impl Step {
            /// All step names, for messages.
            pub const NAMES: &'static [&'static str] = &[$($tag),+];

            /// The value of the key `step`.
            pub fn name(&self) -> &'static str {
                match self { $(Step::$Variant(_) => $tag),+ }
            }

            /// Reads the keys of the step called `name`; `None` when there is no such step. Unlike the derived
            /// `Deserialize` this does not buffer the keys, so errors state their place in the file.
            pub fn from_keys<'de, D: Deserializer<'de>>(name: &str, keys: D) -> Option<Result<Step, D::Error>> {
                match name {
                    $($tag => Some($Variant::deserialize(keys).map(Step::$Variant)),)+
                    _ => None,
                }
            }
        }
    };
}

steps! {
    "mount" Mount,
    "umount" Umount,
    "ubi_attach" UbiAttach,
    "ubi_detach" UbiDetach,
    "ubi_make_volume" UbiMakeVolume,
    "crash" Crash,
    "boot" Boot,
    "format" Format,
    "create" Create,
    "fill" Fill,
    "create_fragmented" CreateFragmented,
    "saturate" Saturate,
    "occupy" Occupy,
    "age" Age,
    "unlink" Unlink,
    "rename" Rename,
    "link" Link,
    "truncate" Truncate,
    "sync" Sync,
    "sync_directories" SyncDirectories,
    "drop_caches" DropCaches,
    "sleep" Sleep,
    "shelf" Shelf,
    "scrub" Scrub,
    "open" Open,
    "close" Close,
    "fsync" Fsync,
    "stat" Stat,
    "fadvise" Fadvise,
    "trim" Trim,
    "read_ahead" ReadAhead,
    "requests" Requests,
    "mmap" Mmap,
    "uflip" Uflip,
    "append" Append,
    "mkdir" Mkdir,
    "rmdir" Rmdir,
    "readdir" Readdir,
    "create_many" CreateMany,
    "stat_many" StatMany,
    "read_many" ReadMany,
    "unlink_many" UnlinkMany,
    "set" Set,
    "get" Get,
    "delete" Delete,
    "iterate" Iterate,
    "setxattr" SetXattr,
    "getxattr" GetXattr,
    "listxattr" ListXattr,
    "removexattr" RemoveXattr,
    "symlink" Symlink,
    "readlink" Readlink,
    "chmod" Chmod,
    "chown" Chown,
    "utimens" Utimens,
    "statfs" Statfs,
    "ftruncate" Ftruncate,
    "fallocate" Fallocate,
    "replay" Replay,
    "fio" Fio,
    "postmark" Postmark,
    "sqlite" Sqlite,
    "copy_in" CopyIn,
    "save_image" SaveImage,
    "mtd_loop" MtdLoop,
    "load" Load,
    "repeat" Repeat,
    "unlink_oldest" UnlinkOldest,
    "stage" Stage,
    "read_raw" ReadRaw,
    "ubi_read" UbiRead,
    "read_files" ReadFiles,
}

macro_rules! step_keys {
    ($($(#[$meta:meta])* $Name:ident { $($(#[$kmeta:meta])* $key:ident: $type:ty),* $(,)? })+) => {
        $($(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $Name { $($(#[$kmeta])* pub $key: $type),* })+
    };
}

step_keys! {
    /// Mounts the partition; an erased one gets a new file system. Read-ahead is set right after it.
    Mount {
        /// Mount options of the file system; "ro" mounts read-only, "remount" with "ro" or "rw" changes what is mounted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    }
    /// Unmounts; every file is closed by then.
    Umount {}
    /// Attaches UBI to the whole partition; an erased one is formatted.
    UbiAttach {}
    /// Detaches UBI.
    UbiDetach {}
    /// Makes one dynamic UBI volume of all available LEBs.
    UbiMakeVolume {}
    /// The power is lost: everything in memory is gone, and nothing is written.
    Crash {}
    /// From power on to mounted: everything in memory is gone, then UBI attaches, the file system scans or recovers what it
    /// finds. After `umount` it is the boot after a clean end, else the one after a power cut.
    Boot {
        /// Mount options, as those of `mount`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    }
    /// Makes a new file system on the medium of a system that has a formatter, as RTEMS on a block device, so that it is
    /// counted apart from the mount. Nothing may be mounted. Without this step, the first mount of an empty medium does so.
    Format {}
    /// Makes a file (truncated if it exists) and writes it front to back.
    Create {
        file: String,
        bytes: Bytes,
        /// Bytes of one write; the last one is shorter if need be.
        #[serde(rename = "request_B", default = "default_request")]
        request_bytes: Bytes,
        #[serde(default, skip_serializing_if = "is_default")]
        content: ContentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_file: Option<String>,
        /// The error with which the first write must fail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// Makes a file and writes it until no space is left.
    Fill {
        file: String,
        /// Bytes of one write.
        #[serde(rename = "request_B", default = "default_request")]
        request_bytes: Bytes,
        #[serde(default, skip_serializing_if = "is_default")]
        content: ContentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_file: Option<String>,
    }
    /// Makes a file of pieces of 512 to 4096 B, written in random order, each followed by fsync.
    CreateFragmented {
        file: String,
        bytes: Bytes,
        #[serde(default = "default_seed")]
        seed: u64,
    }
    /// unlink(2): deletes a name; with its last name and no open descriptor the file goes.
    Unlink { file: String }
    /// Renames; an existing target is replaced.
    Rename {
        file: String,
        to: String,
        /// The flags of renameat2(2).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flags: Vec<RenameFlag>,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// link(2): a further name, or the first one of a file that was opened with `tmpfile`.
    Link {
        file: String,
        to: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// Cuts or extends (with a hole) a file to `bytes`.
    Truncate {
        file: String,
        bytes: Bytes,
        /// ftruncate(2) by the descriptor of the open file, instead of truncate(2) by its name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_descriptor: bool,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// sync(2): all dirty data and metadata.
    Sync {}
    /// YAFFS2: the headers of changed directories are written.
    SyncDirectories {}
    /// Clean pages, directory entries and unused inodes leave memory.
    DropCaches {}
    /// nanosleep(2). Only background work runs.
    Sleep {
        /// How long.
        #[serde(rename = "us")]
        time_us: Micros,
    }
    /// open(2).
    Open {
        file: String,
        /// How it is opened; later steps name the file, not the descriptor.
        flags: Vec<OpenFlag>,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// close(2).
    Close { file: String }
    /// fsync(2): the data and attributes of an open file are on flash when it returns.
    Fsync {
        file: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// stat(2).
    Stat {
        file: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// posix_fadvise(2) on an open file, for the whole of it.
    Fadvise {
        file: String,
        /// What the program will do with the file.
        advice: Advice,
    }
    /// BLKDISCARD of an open device: nobody needs so many bytes from an offset on any more, which it may use.
    Trim {
        file: String,
        /// Where they begin.
        #[serde(default)]
        offset: Bytes,
        bytes: Bytes,
    }
    /// Sets the read-ahead of the mounted file system's backing device.
    ReadAhead {
        /// KiB; 0 switches read-ahead off.
        #[serde(rename = "KiB")]
        window_kib: u32,
    }
    /// Reads and writes of one size in an open file.
    Requests {
        file: String,
        /// Which way the bytes go.
        op: RequestOp,
        /// Where each request begins.
        pattern: Pattern,
        /// `listed`: the numbers of the requests' places in the file, from 0, in the order in which they are made. When
        /// all of them were made, it begins again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        order: Vec<u64>,
        /// By which calls the bytes are moved; absent: pread.
        #[serde(default, skip_serializing_if = "is_default")]
        calls: RequestCalls,
        /// Bytes of one request.
        #[serde(rename = "request_B")]
        request_bytes: Bytes,
        /// Number of requests.
        count: u64,
        /// The requests stay below this offset; absent: the size of the file.
        #[serde(rename = "range_B", default, skip_serializing_if = "Option::is_none")]
        range_bytes: Option<Bytes>,
        /// Seed of the random offsets.
        #[serde(default = "default_seed")]
        seed: u64,
        /// Think time after each request.
        #[serde(default)]
        gap_us: Micros,
        #[serde(default, skip_serializing_if = "is_default")]
        content: ContentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_file: Option<String>,
    }
    /// Writes at the end of an open file; after each write `sync` says how it is made durable.
    Append {
        file: String,
        /// Bytes of one write.
        #[serde(rename = "request_B")]
        request_bytes: Bytes,
        /// Number of writes.
        count: u64,
        /// What follows each write.
        #[serde(default)]
        sync: AppendSync,
        /// Think time after each write and its sync.
        #[serde(default, skip_serializing_if = "is_default")]
        gap_us: Micros,
        #[serde(default, skip_serializing_if = "is_default")]
        content: ContentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_file: Option<String>,
    }
    /// mkdir(2).
    Mkdir { dir: String }
    /// rmdir(2).
    Rmdir {
        dir: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// Reads every entry of a directory; "" is the root.
    Readdir { dir: String }
    /// setxattr(2): makes or replaces an extended attribute of a file or directory; "" is the root.
    SetXattr {
        file: String,
        /// The full name, as "user.comment"; file systems keep some of user., trusted., security.
        name: String,
        /// The value as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
        /// Size of a value of any content, instead of `value`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
        /// Absent: it is made or replaced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flag: Option<XattrFlag>,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// getxattr(2).
    GetXattr {
        file: String,
        name: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// listxattr(2).
    ListXattr { file: String }
    /// removexattr(2).
    RemoveXattr {
        file: String,
        name: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// Replays the file system calls of a recorded program.
    Replay {
        /// The recording, relative to the experiment file: of `strace -f -ttt -T`, fio, blkparse, OpenFlash, MSR Cambridge,
        /// SPC, or a table. docs/traces.md describes them.
        file: String,
        /// Whether the program's think time between calls is kept, or the time at which each of them came.
        #[serde(default)]
        think: Think,
        /// How many times faster than in the recording the program is: its pauses are divided by it; absent: 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        speed: Option<f64>,
        /// Only calls below this directory of the traced machine are replayed; absent: their common directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// The one file on which the recording of a device or file is replayed, such as "disk", which is a block device as a
        /// whole; absent: files named as in the recording.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<String>,
        /// With `onto`: which device or file of a recording that has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<String>,
        /// What the writes of the program are like, as a recording does not hold their bytes; absent: random, and the answer says
        /// that compression cannot be judged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<ContentName>,
        /// With `content = "mix"`: how much of a mix is random, and so about what a compressor leaves of it; absent: 50.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        random_percent: Option<u8>,
    }
    /// Runs the jobs of a fio job file. Their files are laid out first; if the step is measured, at the end of the
    /// setup.
    Fio {
        /// The job file, relative to the experiment file.
        file: String,
        /// Options that are not honoured are left out with a note instead of being refused.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lenient: bool,
    }
    /// Runs a command file of the program `postmark`.
    Postmark {
        /// The command file, relative to the experiment file.
        file: String,
        /// The lines of the command file, if they are in the experiment file; `file` is only a name then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commands: Option<String>,
        /// Runs sync(2) and empties the caches between the creation of the files and the transactions, so that the
        /// transactions find the files on flash. The program itself cannot do this.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        drop_caches: bool,
    }
    /// Executes SQL with the real SQLite, whose data base lies in the mounted file system. Its computing takes no time: what counts
    /// is its system calls.
    Sqlite {
        /// The data base; it is made when it is missing.
        file: String,
        /// The SQL; `:i` in it is the number of the repetition, from 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sql: Option<String>,
        /// A file of SQL instead of `sql`, relative to the experiment file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<String>,
        /// How often all of it is executed, one after the other.
        #[serde(default = "default_repetitions")]
        count: u64,
        /// What is set before, once and in this order, without the word PRAGMA.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pragmas: Vec<String>,
        /// Seed of SQLite's random numbers.
        #[serde(default = "default_seed")]
        seed: u64,
    }
    /// Copies the content of a folder of this computer into the file system, as `cp -R` does: files, directories and
    /// symbolic links with their permissions, sorted by name. None of the names may exist already.
    CopyIn {
        /// The folder, relative to the experiment file.
        from: String,
        /// The directory to which it is copied; it must exist. "" is the root.
        #[serde(default)]
        dir: String,
        /// Bytes of one write; the last one is shorter if need be.
        #[serde(rename = "request_B", default = "default_copy_request")]
        request_bytes: Bytes,
    }
    /// Saves an image of the partition as it is on the chip now. Data in memory are not in the image; use sync or
    /// umount before. `ffslab run` writes the image to `images/` in the results folder.
    SaveImage {
        /// File name, without folders.
        file: String,
        /// Each page is followed by its OOB area, as in `nanddump --oob`.
        #[serde(default)]
        oob: bool,
    }
}

fn default_request() -> Bytes {
    Bytes(64 << 10)
}

/// The size of the requests of `cp` from coreutils.
fn default_copy_request() -> Bytes {
    Bytes(128 << 10)
}

fn default_repetitions() -> u64 {
    1
}

fn default_seed() -> u64 {
    1
}

/// Whether a key may be left out when a step is written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

mod attributes;
pub(crate) mod checks;
mod error;
mod explained;
mod key_value;
mod many;
mod map;
mod raw;
mod repeat;
mod states;
#[cfg(test)]
mod tests;
mod words;

pub use attributes::{permission_bits, Chmod, Chown, Fallocate, Ftruncate, Readlink, Statfs, Symlink, Utimens};
pub use error::{StepError, UflipError};
pub use explained::Explained;
pub use key_value::{Delete, Get, Iterate, KeyOrder, Set};
pub use many::{path_of_many, CreateMany, ReadMany, StatMany, UnlinkMany};
pub use map::Mmap;
pub use raw::{MtdLoop, MtdOp, ReadFiles, ReadRaw, Stage, UbiRead};
pub use repeat::{EndsWhen, Repeat, UnlinkOldest, Watched};
pub use states::{Age, BasePattern, Distribution, Load, Occupy, Saturate, Scrub, ShareOf, Shelf, Uflip};
pub use words::*;
