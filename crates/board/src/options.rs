//! What the command line says. Options have the words of `ffslab inspect` and `ffslab extract`.

use crate::FORMATS;
use ffslab_images::recognise::mtdparts::memparse;
use ffslab_images::{Given, Wanted};
use ffslab_jffs2::Endian;
use std::ffi::OsString;
use std::path::PathBuf;

pub const USAGE: &str = "\
Usage: ffslab-board inspect [OPTIONS] IMAGE
       ffslab-board extract [OPTIONS] IMAGE [DIR]

  Look into a flash image, list or extract its files: ffslab's verbs of these
  names, for the board itself. What a mount would cost is for the desk.

Arguments:
  IMAGE  Image of a file system (one of those of --fs), or a dump of raw flash with
         or without OOB areas; /dev/stdin: nanddump's output.
  DIR    New or empty folder for the files; without one they are listed.

Options:
  --fs NAME         File system, in small letters, or auto: found out.
  --block-KiB KiB   Size of the erase blocks.
  --page-B B        Size of a page.
  --oob-B B         Size of the OOB area behind each page; 0: there is none.
  --endian ORDER    Byte order of JFFS2: little, big, or auto.
  --mtdparts TEXT   Partitions of the chip that the image is a dump of, as on
                    the kernel's command line.
  --offset BYTES    Where in the flash the only partition begins.
  --size BYTES      How large the only partition is.
  --partition NAME  Which of several partitions.
  --deleted         inspect: what was deleted or overwritten, too.
  --json            Print JSON in place of text.
  --version, --help

Exit codes: 0 done, 1 something is damaged or left out, 2 bad input.
";

/// What is to be done.
pub struct Options {
    pub does_extract: bool,
    pub image: PathBuf,
    pub folder: Option<PathBuf>,
    pub wanted: Wanted,
    pub deleted: bool,
    pub json: bool,
}

/// What a command line asks for.
pub enum Asked {
    Help,
    Version,
    Run(Box<Options>),
}

/// Reads the words behind the name of the program.
///
/// Errors: one line, what is wrong and what would be right.
pub fn read(words: impl Iterator<Item = OsString>) -> Result<Asked, String> {
    let mut words = words.peekable();
    let does_extract = match words.next().as_ref().and_then(|word| word.to_str()) {
        Some("inspect") => false,
        Some("extract") => true,
        Some("--help" | "-h") | None => return Ok(Asked::Help),
        Some("--version") => return Ok(Asked::Version),
        Some(other) => return Err(format!("no verb \"{other}\": inspect or extract")),
    };
    let mut given = Given::default();
    let mut wanted = Wanted::default();
    let (mut deleted, mut json) = (false, false);
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut only_paths = false;
    while let Some(word) = words.next() {
        let Some(text) = word.to_str().filter(|text| !only_paths && text.starts_with('-') && *text != "-") else {
            paths.push(word.into());
            continue;
        };
        let (flag, value) = text.split_once('=').map_or((text, None), |(flag, value)| (flag, Some(value.to_string())));
        let mut value = || -> Result<String, String> {
            let next = || words.next().and_then(|word| word.into_string().ok());
            value.clone().or_else(next).ok_or(format!("{flag}: needs a value"))
        };
        match flag {
            "--" => only_paths = true,
            "--help" | "-h" => return Ok(Asked::Help),
            "--json" => json = true,
            "--quiet" | "-q" => {}
            "--deleted" if !does_extract => deleted = true,
            "--fs" => given.fs = known_fs(&value()?)?,
            "--endian" => given.endian = known_endian(&value()?)?,
            "--block-KiB" => given.block_bytes = Some(size(flag, &value()?)? << 10),
            "--page-B" => given.page_bytes = Some(size(flag, &value()?)?),
            "--oob-B" => given.oob_bytes = Some(size(flag, &value()?)?),
            "--mtdparts" => wanted.mtdparts = Some(value()?),
            "--offset" => wanted.offset_bytes = Some(bytes(flag, &value()?)?),
            "--size" => wanted.size_bytes = Some(bytes(flag, &value()?)?),
            "--partition" => wanted.partition = Some(value()?),
            _ => return Err(format!("no option {flag}: --help lists them")),
        }
    }
    wanted.given = given;
    let folder = if does_extract && paths.len() == 2 { paths.pop() } else { None };
    let count = paths.len();
    let image = paths.pop().filter(|_| count == 1).ok_or_else(|| {
        if does_extract {
            "extract: give an image, and a folder if its files are to be written".to_string()
        } else {
            "inspect: give one image".to_string()
        }
    })?;
    Ok(Asked::Run(Box::new(Options { does_extract, image, folder, wanted, deleted, json })))
}

fn known_fs(name: &str) -> Result<Option<ffslab_images::ImageFs>, String> {
    let formats = FORMATS.map(|(name, title, format)| ffslab_images::ImageFs::new(name, title, Some(format)));
    let found = formats.into_iter().find(|fs| fs.name() == name);
    match name {
        _ if found.is_some() => Ok(found),
        "auto" => Ok(None),
        _ => Err(format!("--fs {name}: must be {} or auto", FORMATS.map(|(name, ..)| name).join(", "))),
    }
}

fn known_endian(name: &str) -> Result<Option<Endian>, String> {
    match name {
        "auto" => Ok(None),
        "little" => Ok(Some(Endian::Little)),
        "big" => Ok(Some(Endian::Big)),
        _ => Err(format!("--endian {name}: must be little, big or auto")),
    }
}

fn size(flag: &str, text: &str) -> Result<u32, String> {
    let parsed: Option<u32> = text.parse().ok().filter(|value| *value < 1 << 20);
    parsed.ok_or(format!("{flag} {text}: must be 0 to 1048575"))
}

fn bytes(flag: &str, text: &str) -> Result<u64, String> {
    let mut rest = text;
    let parsed = memparse(&mut rest).filter(|_| rest.is_empty());
    parsed.ok_or(format!("{flag} {text}: must be a number of bytes, such as 0x100000, 1M or 512k"))
}
