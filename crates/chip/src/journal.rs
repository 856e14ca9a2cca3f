//! The journal of a chip: what a program did to it, in a file, and a chip as a power cut in such a journal leaves it.
//!
//! `ffslab crashtest` asks for both by variables of the environment, so that the program needs no change. A journal is lines of JSON: a
//! header, then each program and erase in its order with who called for it and a hash of the whole medium behind it. Each line is written
//! when its operation is over, so that a program may end without closing its chip.
//!
//! **Leaves out.** Chips that age. What the program itself does to the power or to the contents at once cannot be told as operations, so
//! that the journal says why it is no use.

use crate::callers::Callers;
use crate::error::ChipError;
use ffslab_flash::{Modification, Torn};
use ffslab_mtd::{MediumImage, Modifications, Mtd};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the journal of the first chip of the process to this file, which is not there yet.
const KEEP: &str = "FFSLAB_CHIP_KEEP";
/// The first chip begins as a cut leaves it: `FILE:OPERATION:TORN[:SEED]`.
const FROM: &str = "FFSLAB_CHIP_FROM";
/// Keys of `[stack]` that take the place of the program's.
const STACK: &str = "FFSLAB_CHIP_STACK";
const VERSION: u32 = 1;
/// What a process ends with that cannot write its journal: half of one must not pass for a whole one.
const NOT_WRITTEN: i32 = 74;

/// What the environment asks of the first chip.
#[derive(Default)]
pub(crate) struct Asked {
    keep: Option<PathBuf>,
    cut: Option<Cut>,
    pub stack: Option<String>,
}

/// A power cut in what a journal tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Cut {
    file: PathBuf,
    /// From 1; those before it are whole.
    operation: u64,
    torn: String,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
struct Header {
    ffslab_chip_journal: u32,
    keys: toml::Table,
    /// The chip in words.
    about: String,
    /// Hash of what a chip of these keys holds when it is new.
    base: String,
    /// Hash of what this one held.
    medium: String,
    /// Where this one began.
    from: Option<Cut>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Page,
    Oob,
    Bytes,
    Erase,
}

/// A line behind the header.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Refused { refused: String },
    Done(Entry),
}

/// An operation.
#[derive(Serialize, Deserialize)]
struct Entry {
    what: What,
    /// Page, byte or block of the chip.
    at: u64,
    /// Byte of the partition.
    address: u64,
    data: String,
    oob: Option<String>,
    /// The label or the function of the program.
    by: String,
    /// Hash of what the chip holds behind it.
    medium: String,
}

impl Asked {
    /// Errors: a variable that says something else than it should.
    pub fn of_environment() -> Result<Asked, ChipError> {
        let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| said(name).map(|value| value.to_string_lossy().into_owned());
        Ok(Asked {
            keep: said(KEEP).map(PathBuf::from),
            cut: text(FROM).map(|text| Cut::read(&text)).transpose()?,
            stack: text(STACK),
        })
    }

    pub fn is_of_one_chip(&self) -> bool {
        self.keep.is_some() || self.cut.is_some()
    }

    /// The process opens another chip.
    pub fn second_chip(&self) -> ChipError {
        let why =
            "the program opens a second chip, and power cuts are made of one: open it once, and close it at the end";
        if let Some(file) = &self.keep {
            refuse(file, why);
        }
        ChipError::Input(why.to_string())
    }

    /// Puts the chip into the state from which it begins, and begins its journal.
    ///
    /// Errors: a journal of another chip, a file that is there already or cannot be written, a chip that cannot be recorded.
    pub fn begin(&self, keys: &toml::Table, mtd: &Mtd) -> Result<Option<Journal>, ChipError> {
        let base = mtd.snapshot();
        if matches!(&base, MediumImage::Chip(chip) if chip.has_ages()) {
            let why =
                "the chip ages, and a power cut of one that does cannot be made afterwards: leave out [stack.ageing]";
            return Err(ChipError::Input(why.to_string()));
        }
        if !mtd.keep_modifications() {
            return Err(ChipError::Input("no power cuts can be made of a chip that is several in a row".to_string()));
        }
        let kept = mtd.take_modifications();
        let base_hash = Hashes::of(&kept, &base).text();
        let header = Header {
            ffslab_chip_journal: VERSION,
            keys: keys.clone(),
            about: about(keys, mtd),
            base: base_hash.clone(),
            medium: base_hash,
            from: self.cut.clone(),
        };
        let medium = match &self.cut {
            Some(cut) => cut.medium(&header, &kept, base)?,
            None => base,
        };
        if self.cut.is_some() {
            mtd.restore(&medium)?;
            mtd.take_modifications();
        }
        let Some(file) = &self.keep else { return Ok(None) };
        Journal::begin(file, header, kept, medium).map(Some)
    }
}

/// A chip in words.
fn about(keys: &toml::Table, mtd: &Mtd) -> String {
    let named = ["board", "part"].into_iter().filter_map(|key| Some(format!("{key} {}", keys.get(key)?.as_str()?)));
    let size = mtd.capabilities();
    let block = f64::from(size.erase_block_bytes) / 1024.0;
    named.chain([format!("{} erase blocks of {block} KiB", size.blocks)]).collect::<Vec<_>>().join(", ")
}

impl Cut {
    /// `FILE:OPERATION:TORN[:SEED]`, of which the file may have colons.
    fn read(text: &str) -> Result<Cut, ChipError> {
        let wrong = || ChipError::Input(format!("{FROM}={text}: FILE:OPERATION:TORN[:SEED] is needed"));
        let (rest, last) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (rest, torn, seed) = match last.parse() {
            Ok(seed) => rest.rsplit_once(':').map(|(rest, torn)| (rest, torn, seed)).ok_or_else(wrong)?,
            Err(_) => (rest, last, 0),
        };
        let (file, operation) = rest.rsplit_once(':').ok_or_else(wrong)?;
        let operation = operation.parse().ok().filter(|&operation| operation > 0).ok_or_else(wrong)?;
        let torn = torn.to_string();
        let file = std::path::absolute(file).map_err(|error| ChipError::file(Path::new(file), &error))?;
        let cut = Cut { file, operation, torn, seed };
        cut.torn().ok_or_else(wrong)?;
        Ok(cut)
    }

    fn torn(&self) -> Option<Torn> {
        let seed = self.seed;
        Some(match self.torn.as_str() {
            "nothing" => Torn::Nothing,
            "partial" => Torn::Partial { seed },
            "unstable" => Torn::Unstable { seed },
            "complete" => Torn::Complete,
            _ => return None,
        })
    }

    /// What the chip holds after the cut. `here`: the header of a new chip.
    fn medium(&self, here: &Header, kept: &Modifications, base: MediumImage) -> Result<MediumImage, ChipError> {
        let (header, operations) = read(&self.file)?;
        let refuse = |why: String| Err(ChipError::Input(format!("{}: {why}", self.file.display())));
        if let Some(key) = different_key(&header.keys, &here.keys) {
            let value = |keys: &toml::Table| keys.get(&key).map_or("none".to_string(), ToString::to_string);
            return refuse(format!(
                "is of another chip: {key} = {} there, {} here",
                value(&header.keys),
                value(&here.keys)
            ));
        }
        if header.base != here.base {
            return refuse("is of a chip that held something else when it was new: record it again".to_string());
        }
        let all = operations.len() as u64;
        if self.operation > all + 1 {
            return refuse(format!("operation {}: it has {all}, so that {} is the last cut", self.operation, all + 1));
        }
        let mut medium = match &header.from {
            Some(before) => before.medium(here, kept, base)?,
            None => base,
        };
        let (whole, rest) = operations.split_at(self.operation as usize - 1);
        whole.iter().for_each(|operation| kept.apply(operation, Torn::Complete, &mut medium));
        if let (Some(operation), Some(torn)) = (rest.first(), self.torn()) {
            kept.apply(operation, torn, &mut medium);
        }
        Ok(medium)
    }
}

/// The first key whose values differ.
fn different_key(one: &toml::Table, other: &toml::Table) -> Option<String> {
    one.keys().chain(other.keys()).find(|&key| one.get(key) != other.get(key)).cloned()
}

/// A journal that was written. Errors: it cannot be read, or is no use.
fn read(file: &Path) -> Result<(Header, Vec<Modification>), ChipError> {
    let text = std::fs::read_to_string(file).map_err(|error| ChipError::file(file, &error))?;
    let wrong =
        |number: usize| ChipError::Input(format!("{}: line {number}: is no line of a chip's journal", file.display()));
    let mut lines = text.lines();
    let header: Header = lines.next().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(|| wrong(1))?;
    if header.ffslab_chip_journal != VERSION {
        return Err(ChipError::Input(format!("{}: is a journal of another version: record it again", file.display())));
    }
    let operation = |(number, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(Line::Done(entry)) => entry.modification().ok_or_else(|| wrong(number + 2)),
        Ok(Line::Refused { refused }) => Err(ChipError::Input(format!("{}: {refused}", file.display()))),
        Err(_) => Err(wrong(number + 2)),
    };
    let operations = lines.enumerate().map(operation).collect::<Result<_, _>>()?;
    Ok((header, operations))
}

impl Entry {
    fn new(operation: &Modification, address: u64, by: &str, medium: String) -> Entry {
        let (what, at, data, oob) = match operation {
            Modification::Page { page, data, oob } => (What::Page, u64::from(*page), &data[..], oob.as_deref()),
            Modification::Oob { page, oob } => (What::Oob, u64::from(*page), &[][..], Some(&oob[..])),
            Modification::Bytes { at, data } => (What::Bytes, *at, &data[..], None),
            Modification::Erase { block } => (What::Erase, u64::from(*block), &[][..], None),
        };
        Entry { what, at, address, data: hex(data), oob: oob.map(hex), by: by.to_string(), medium }
    }

    fn modification(&self) -> Option<Modification> {
        let number = u32::try_from(self.at).ok();
        let data = bytes(&self.data)?;
        let oob = match &self.oob {
            Some(oob) => Some(bytes(oob)?),
            None => None,
        };
        Some(match self.what {
            What::Page => Modification::Page { page: number?, data, oob },
            What::Oob => Modification::Oob { page: number?, oob: oob? },
            What::Bytes => Modification::Bytes { at: self.at, data },
            What::Erase => Modification::Erase { block: number? },
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn bytes(hex: &str) -> Option<Box<[u8]>> {
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| Some((value(pair[0])? << 4) | value(*pair.get(1)?)?)).collect()
}

/// Hashes of the erase blocks of a medium, and of all of them together.
struct Hashes {
    blocks: Vec<u64>,
    whole: u64,
}

impl Hashes {
    fn of(kept: &Modifications, medium: &MediumImage) -> Hashes {
        let blocks: Vec<u64> = (0..kept.blocks(medium)).map(|block| kept.hash(medium, block)).collect();
        let whole = blocks.iter().fold(0, |all, hash| all ^ hash);
        Hashes { blocks, whole }
    }

    fn changed(&mut self, kept: &Modifications, medium: &MediumImage, block: u32) {
        let hash = kept.hash(medium, block);
        self.whole ^= std::mem::replace(&mut self.blocks[block as usize], hash) ^ hash;
    }

    fn text(&self) -> String {
        format!("{:016x}", self.whole)
    }
}

/// What is done to a chip goes to its file.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    kept: Modifications,
    /// What the chip holds behind the last line.
    medium: MediumImage,
    hashes: Hashes,
    /// Who explains what has no label.
    callers: Callers,
}

impl Journal {
    fn begin(path: &Path, mut header: Header, kept: Modifications, medium: MediumImage) -> Result<Journal, ChipError> {
        if path.exists() {
            let why = "another process of the command has opened a chip before, and power cuts are made of one";
            refuse(path, why);
            return Err(ChipError::Input(format!("{}: {why}", path.display())));
        }
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|error| ChipError::file(path, &error))?;
        let hashes = Hashes::of(&kept, &medium);
        header.medium = hashes.text();
        let mut journal = Journal { path: path.to_path_buf(), file, kept, medium, hashes, callers: Callers::new("")? };
        journal.line(&header);
        Ok(journal)
    }

    /// Writes what was done since the last time by an operation at a byte of the partition.
    pub fn note(&mut self, mtd: &Mtd, at: u64, callers: Option<&mut Callers>, is_labelled: bool) {
        let done = mtd.take_modifications().operations;
        let Some(first) = done.first().map(|operation| self.position(mtd, operation)) else { return };
        let reason = match is_labelled {
            true => mtd.sim().reason(),
            false => callers.unwrap_or(&mut self.callers).reason(mtd.sim()),
        };
        for operation in done {
            self.kept.apply(&operation, Torn::Complete, &mut self.medium);
            let block = self.kept.block_of(&operation, &self.medium);
            self.hashes.changed(&self.kept, &self.medium, block);
            let address = (at + self.position(mtd, &operation)).saturating_sub(first);
            self.line(&Entry::new(&operation, address, reason.name, self.hashes.text()));
        }
    }

    /// The byte of the chip where an operation begins.
    fn position(&self, mtd: &Mtd, operation: &Modification) -> u64 {
        match operation {
            Modification::Page { page, .. } | Modification::Oob { page, .. } => {
                u64::from(*page) * u64::from(mtd.capabilities().program_bytes)
            }
            Modification::Bytes { at, .. } => *at,
            Modification::Erase { block } => u64::from(*block) * u64::from(self.kept.block_bytes),
        }
    }

    /// The program does what no line can tell.
    pub fn refuse(&mut self, why: &str) {
        self.line(&Line::Refused { refused: why.to_string() });
    }

    fn line(&mut self, line: &impl Serialize) {
        write_line(&self.path, &mut self.file, line);
    }
}

/// Notes in a journal, if it is there, why it is no use.
fn refuse(path: &Path, why: &str) {
    if let Ok(mut file) = OpenOptions::new().append(true).open(path) {
        write_line(path, &mut file, &Line::Refused { refused: why.to_string() });
    }
}

/// Ends the process where that fails.
fn write_line(path: &Path, file: &mut File, line: &impl Serialize) {
    let text = serde_json::to_string(line).map_err(std::io::Error::other);
    let written = text.and_then(|text| file.write_all(format!("{text}\n").as_bytes()));
    if let Err(error) = written {
        eprintln!("{}", ChipError::file(path, &error));
        std::process::exit(NOT_WRITTEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chip;
    use ffslab_mtd::MtdError;

    #[test]
    fn a_cut_is_read_from_its_end() {
        let cut = Cut::read("/a:b/c:7:partial:12").unwrap();
        assert_eq!(
            (cut.file.to_str(), cut.operation, cut.torn()),
            (Some("/a:b/c"), 7, Some(Torn::Partial { seed: 12 }))
        );
        assert_eq!(Cut::read("/c:7:nothing").unwrap().torn(), Some(Torn::Nothing));
        for wrong in ["", "/c", "/c:7", "/c:0:nothing", "/c:7:half", "/c:7:12", "/c:x:nothing"] {
            let said = Cut::read(wrong).unwrap_err().to_string();
            assert_eq!(said, format!("{FROM}={wrong}: FILE:OPERATION:TORN[:SEED] is needed"));
        }
    }

    #[test]
    fn bytes_are_what_their_text_says() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes(&hex(&all)).as_deref(), Some(&all[..]));
        assert!(bytes("0").is_none() && bytes("0g").is_none());
    }

    /// What erases, programs with and without OOB, and marks a block bad where there are such.
    fn work(chip: &mut Chip) -> Result<(), MtdError> {
        let size = *chip.capabilities();
        let block = u64::from(size.erase_block_bytes);
        let page = size.program_bytes.max(256) as usize;
        chip.erase(0)?;
        chip.program(0, &vec![0x5A; 3 * page])?;
        if size.oob_free_bytes > 0 {
            chip.program_with_oob(block, &vec![0x3C; page], &[1, 2, 3])?;
            chip.mark_bad(2 * block)?;
        }
        chip.erase(0)?;
        chip.program(0, &vec![0x0F; page])
    }

    fn hash_of(chip: &Chip) -> String {
        let kept = Modifications { block_bytes: chip.capabilities().erase_block_bytes, ..Modifications::default() };
        Hashes::of(&kept, &chip.snapshot()).text()
    }

    /// On NOR and NAND a chip begins as the same cut leaves one that is cut while it works, and so does a cut of what was done from there.
    #[test]
    fn a_chip_begins_as_a_power_cut_leaves_one() {
        let folder = std::env::temp_dir().join(format!("ffslab-chip-journal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let nor = "board = \"licheepi-nano\"\npart = \"w25q128jv\"\nerase_block_KiB = 4\npartition_blocks = 4\n";
        let nand = "board = \"omap3evm\"\npartition_blocks = 4\n";
        for (number, stack) in [nor, nand].into_iter().enumerate() {
            let [first, second] = ["first", "second"].map(|name| folder.join(format!("{name}-{number}")));
            let keep = |keep: &Path, cut| Asked { keep: Some(keep.to_path_buf()), cut, stack: None };
            let mut recorded = Chip::opened(stack).unwrap().recorded(&keep(&first, None)).unwrap();
            work(&mut recorded).unwrap();
            let operations = recorded.modifying_operations();
            assert_eq!(read(&first).unwrap().1.len() as u64, operations, "{stack}");
            for operation in 1..=operations {
                for torn in [Torn::Nothing, Torn::Partial { seed: 3 }, Torn::Unstable { seed: 4 }, Torn::Complete] {
                    let (word, seed) = match torn {
                        Torn::Nothing => ("nothing", 0),
                        Torn::Partial { seed } => ("partial", seed),
                        Torn::Unstable { seed } => ("unstable", seed),
                        Torn::Complete => ("complete", 0),
                    };
                    let mut real = Chip::opened(stack).unwrap();
                    real.cut_power_after(operation, torn);
                    assert_eq!(work(&mut real), Err(MtdError::PowerCut));
                    real.restart().unwrap();
                    let cut = Cut { file: first.clone(), operation, torn: word.to_string(), seed };
                    let mut begun = Chip::opened(stack).unwrap().recorded(&keep(&second, Some(cut))).unwrap();
                    assert_eq!(hash_of(&begun), hash_of(&real), "{stack} {operation} {torn:?}");
                    // What comes then is recorded from there.
                    for chip in [&mut begun, &mut real] {
                        let block = u64::from(chip.capabilities().erase_block_bytes);
                        chip.erase(3 * block).unwrap();
                        chip.program(3 * block, &vec![0; 2048]).unwrap();
                    }
                    let done = read(&second).unwrap().1.len() as u64;
                    let end = Cut { file: second.clone(), operation: done + 1, torn: "nothing".to_string(), seed: 0 };
                    let asked = Asked { cut: Some(end), ..Asked::default() };
                    let again = Chip::opened(stack).unwrap().recorded(&asked).unwrap();
                    assert_eq!(hash_of(&again), hash_of(&real), "{stack} {operation} {torn:?}");
                    std::fs::remove_file(&second).unwrap();
                }
            }
            let other = Asked {
                cut: Some(Cut { file: first, operation: 1, torn: "nothing".to_string(), seed: 0 }),
                ..Asked::default()
            };
            let wrong = Chip::opened(&stack.replace("blocks = 4", "blocks = 5")).unwrap().recorded(&other);
            let said = wrong.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(said.ends_with("is of another chip: partition_blocks = 4 there, 5 here"), "{said}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
