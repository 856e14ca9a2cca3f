//! Opening files that users name: this file decides which kinds of files are read, and up to which size.
//!
//! A simulation reads regular files, and pipes that its caller gives it as an open descriptor (`< file`, `<(command)`,
//! /dev/stdin). Devices, folders, FIFOs with names and files of /proc and /sys are refused before anything is read: some
//! have no end, some never begin. What is read is never longer than the limit of its kind, which packed files may not
//! exceed when they are unpacked either.

use std::fs::{self, File, FileType};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The purpose for which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    Experiment,
    Profile,
    /// A job file of fio.
    Jobs,
    /// A command file of Postmark.
    Commands,
    /// SQL.
    Script,
    /// Recorded calls of a program.
    Trace,
    /// A log of the probe kit or of a board's tracers.
    Log,
    /// A CSV table of measurements.
    Table,
    Cases,
    Image,
    /// A key of encrypted files.
    Key,
    /// A file of a results folder.
    Results,
    /// A file that is copied into a simulated file system; also the limit of all files of its folder.
    Copied,
    /// A part of a reference machine: kernel, module, program.
    Machine,
}

const MIB: u64 = 1 << 20;

impl InputKind {
    pub const ALL: [InputKind; 14] = [
        InputKind::Experiment,
        InputKind::Profile,
        InputKind::Jobs,
        InputKind::Commands,
        InputKind::Script,
        InputKind::Trace,
        InputKind::Log,
        InputKind::Table,
        InputKind::Cases,
        InputKind::Image,
        InputKind::Key,
        InputKind::Results,
        InputKind::Copied,
        InputKind::Machine,
    ];

    /// The name of the kind, for use in sentences.
    pub fn name(self) -> &'static str {
        match self {
            InputKind::Experiment => "experiment",
            InputKind::Profile => "profile",
            InputKind::Jobs => "job file",
            InputKind::Commands => "command file",
            InputKind::Script => "script",
            InputKind::Trace => "trace",
            InputKind::Log => "log",
            InputKind::Table => "table",
            InputKind::Cases => "file of cases",
            InputKind::Image => "image",
            InputKind::Key => "key file",
            InputKind::Results => "results file",
            InputKind::Copied => "copied file",
            InputKind::Machine => "part of the machine",
        }
    }

    /// The most bytes that are read, packed or unpacked. docs/limits.md lists the memory that follows from it.
    pub fn bytes_max(self) -> u64 {
        match self {
            InputKind::Experiment | InputKind::Profile | InputKind::Jobs | InputKind::Commands | InputKind::Key => MIB,
            InputKind::Script => 16 * MIB,
            InputKind::Table => 64 * MIB,
            InputKind::Cases => 32 * MIB,
            InputKind::Results | InputKind::Copied | InputKind::Machine => 256 * MIB,
            InputKind::Trace => 512 * MIB,
            InputKind::Log => 2048 * MIB,
            // A large file is not read but mapped.
            InputKind::Image => 65_536 * MIB,
        }
    }

    /// The most bytes that are read into memory at once, and that a pipe may have.
    pub fn held_bytes_max(self) -> u64 {
        match self {
            // The largest chip that is sold as SLC with small blocks, 512 MiB, and OOB areas of an eighth.
            InputKind::Image => 576 * MIB,
            other => other.bytes_max(),
        }
    }
}

/// An open file. Reading it fails when it is longer than its kind allows.
pub struct Input {
    file: File,
    kind: InputKind,
    /// The length of a regular file; `None` for a pipe.
    bytes: Option<u64>,
    room_bytes: u64,
}

/// Opens a file.
///
/// Errors: those of the system, a file that is not regular, a file that is too large. [`crate::words::io_reason`] puts
/// all of them into words.
pub fn open(path: &Path, kind: InputKind) -> io::Result<Input> {
    // The type is checked before the file is opened, because opening a FIFO waits for a writer.
    let about = fs::metadata(path)?;
    let is_pipe = about.file_type().is_fifo() && is_descriptor(path);
    if !about.is_file() && !is_pipe {
        return Err(refused(format!("it is {}", what_it_is(about.file_type()))));
    }
    if about.is_file() {
        if about.len() > kind.bytes_max() {
            return Err(too_long(kind, kind.bytes_max(), Some(about.len())));
        }
        // Files of these systems wait for events or have no end, and do not state their length.
        if let Some(of) = fs::canonicalize(path).ok().and_then(|path| made_on_reading(&path)) {
            return Err(refused(format!(
                "it is a file of {of}, which the kernel makes while it is read: copy it first"
            )));
        }
    }
    let file = File::open(path)?;
    let room_bytes = if about.is_file() { kind.bytes_max() } else { kind.held_bytes_max() };
    Ok(Input { file, kind, bytes: about.is_file().then_some(about.len()), room_bytes })
}

/// Reads a whole file. Errors: as [`open`], and more than is read into memory.
pub fn read(path: &Path, kind: InputKind) -> io::Result<Vec<u8>> {
    open(path, kind)?.read_all()
}

/// Reads a whole file of text. Errors: as [`open`], and bytes that are no UTF-8.
pub fn read_text(path: &Path, kind: InputKind) -> io::Result<String> {
    let bytes = read(path, kind)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is no UTF-8 text (byte {at})"))
    })
}

impl Input {
    /// Reads the rest. Errors: those of the system, and more than is read into memory.
    pub fn read_all(mut self) -> io::Result<Vec<u8>> {
        let (kind, bytes) = (self.kind, self.bytes.unwrap_or(0));
        if bytes > kind.held_bytes_max() {
            return Err(too_long(kind, kind.held_bytes_max(), Some(bytes)));
        }
        self.room_bytes = self.room_bytes.min(kind.held_bytes_max());
        let mut held = Vec::with_capacity(bytes as usize);
        self.read_to_end(&mut held)?;
        Ok(held)
    }

    /// The length of a regular file; of a pipe there is none.
    pub fn length_bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The open file, for a caller that checks the limit itself.
    pub fn into_file(self) -> File {
        self.file
    }

    /// The content, unpacked if its first bytes show that it is gzipped. Unpacked, it must not exceed the same limit.
    pub fn unpacked(mut self) -> io::Result<Box<dyn BufRead>> {
        let mut start = Vec::new();
        self.by_ref().take(2).read_to_end(&mut start)?;
        let is_gzip = start == [0x1f, 0x8b];
        let kind = self.kind;
        let whole = Cursor::new(start).chain(BufReader::with_capacity(128 << 10, self));
        if !is_gzip {
            return Ok(Box::new(whole));
        }
        let plain = flate2::bufread::MultiGzDecoder::new(whole);
        Ok(Box::new(BufReader::with_capacity(128 << 10, Limited { from: plain, kind, room_bytes: kind.bytes_max() })))
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(into)?;
        taken(&mut self.room_bytes, n, self.kind)
    }
}

struct Limited<R> {
    from: R,
    kind: InputKind,
    room_bytes: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(into)?;
        taken(&mut self.room_bytes, n, self.kind)
    }
}

fn taken(room_bytes: &mut u64, n: usize, kind: InputKind) -> io::Result<usize> {
    *room_bytes = room_bytes.checked_sub(n as u64).ok_or_else(|| too_long(kind, kind.held_bytes_max(), None))?;
    Ok(n)
}

/// Whether the path names a descriptor that the caller has opened. Reading any other pipe could wait for ever.
fn is_descriptor(path: &Path) -> bool {
    ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder)) || path == Path::new("/dev/stdin")
}

fn made_on_reading(path: &Path) -> Option<&'static str> {
    ["/proc", "/sys"].into_iter().find(|folder| path.starts_with(folder))
}

fn what_it_is(of: FileType) -> &'static str {
    if of.is_dir() {
        "a folder: name a file in it"
    } else if of.is_fifo() {
        "a FIFO: give a regular file, or a pipe as /dev/stdin"
    } else if of.is_socket() {
        "a socket: give a regular file"
    } else {
        "a device: give a regular file"
    }
}

fn refused(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn too_long(kind: InputKind, limit_bytes: u64, bytes: Option<u64>) -> io::Error {
    let (name, limit) = (kind.name(), format!("{} MiB", limit_bytes / MIB));
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let has = bytes.map_or_else(|| "it has".to_string(), |bytes| format!("it has {bytes} bytes,"));
    refused(format!("{has} more than the {limit} that {article} {name} may have"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::io_reason;
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::Command;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("ffslab-input-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn why_not(path: &Path, kind: InputKind) -> String {
        io_reason(&read(path, kind).unwrap_err())
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting() {
        let folder = Folder::new("special");
        let fifo = folder.0.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert!(why_not(&fifo, InputKind::Trace).starts_with("it is a FIFO"));
        assert!(why_not(&folder.0, InputKind::Image).starts_with("it is a folder"));
        let knot = folder.0.join("knot");
        std::os::unix::fs::symlink(&knot, &knot).unwrap();
        assert_eq!(why_not(&knot, InputKind::Image), "too many levels of symbolic links");
        assert_eq!(why_not(&folder.0.join("none"), InputKind::Image), "no such file or directory");
        if cfg!(target_os = "linux") {
            assert!(why_not(Path::new("/dev/zero"), InputKind::Script).starts_with("it is a device"));
            assert!(why_not(Path::new("/proc/self/status"), InputKind::Script).contains("copy it first"));
        }
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_is_read() {
        let folder = Folder::new("long");
        let path = folder.0.join("sparse");
        File::create(&path).unwrap().set_len(InputKind::Image.held_bytes_max() + 1).unwrap();
        assert_eq!(
            why_not(&path, InputKind::Image),
            "it has 603979777 bytes, more than the 576 MiB that an image may have"
        );
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(InputKind::Jobs.bytes_max()).unwrap();
        assert_eq!(read(&path, InputKind::Jobs).unwrap().len() as u64, InputKind::Jobs.bytes_max());
    }

    #[test]
    fn what_is_packed_may_not_be_longer_than_what_is_not() {
        let folder = Folder::new("packed");
        let path = folder.0.join("bomb.gz");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![b'x'; MIB as usize]).unwrap();
        let member = encoder.finish().unwrap();
        let unpacked_bytes = |members: usize| {
            fs::write(&path, member.repeat(members)).unwrap();
            let mut plain = open(&path, InputKind::Cases).unwrap().unpacked().unwrap();
            io::copy(&mut plain, &mut io::sink()).map_err(|error| io_reason(&error))
        };
        assert_eq!(unpacked_bytes(32).unwrap(), InputKind::Cases.bytes_max());
        assert_eq!(unpacked_bytes(33).unwrap_err(), "it has more than the 32 MiB that a file of cases may have");
    }
}
