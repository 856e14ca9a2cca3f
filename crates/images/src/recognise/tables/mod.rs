//! Partition tables that stand in a dump: MBR, GPT, ESP32's, the list in U-Boot's environment, and that of a tar archive around images.
//!
//! A table is trusted only if all that it can be checked by is right. What is wrong with one that is used, or why one is not, is told.

mod esp32;
mod gpt;
mod look;
mod mbr;
mod tar;
mod uboot;

use super::mtdparts::Defined;
use look::{Entry, Look};
pub use uboot::environment;

/// What tables say of an image.
#[derive(Debug, Default)]
pub struct Found {
    /// As people call the table, "a GPT". `None`: there is none, or none that can be trusted.
    pub table: Option<&'static str>,
    /// Its partitions, by their places, within the image.
    pub parts: Vec<Defined>,
    /// What is wrong with it, in a sentence each.
    pub doubts: Vec<String>,
}

type Finder = fn(&[u8]) -> Option<Look>;

/// The partitions of the table of an image.
pub fn find(image: &[u8]) -> Found {
    let looks: [Finder; 5] = [tar::find, gpt::find, mbr::find, esp32::find, uboot::find];
    let Some(Look { table, entries, mut doubts }) = looks.iter().find_map(|look| look(image)) else {
        return Found::default();
    };
    let (parts, cut) = within(table, entries, image.len() as u64);
    doubts.extend(cut);
    Found { table: Some(table).filter(|_| !parts.is_empty()), parts, doubts }
}

/// The partitions as far as they are in the image, each with a name of its own, and what is wrong with them.
fn within(table: &str, mut entries: Vec<Entry>, image_bytes: u64) -> (Vec<Defined>, Vec<String>) {
    entries.sort_by_key(|entry| entry.offset_bytes);
    let (mut parts, mut doubts): (Vec<Defined>, Vec<String>) = (Vec::new(), Vec::new());
    for (number, Entry { name, offset_bytes, size_bytes }) in (1..).zip(entries) {
        let name = own_name(&name, number, &parts);
        let left = size_bytes.min(image_bytes.saturating_sub(offset_bytes));
        if left < size_bytes {
            let missing = size_bytes - left;
            doubts.push(format!(
                "{table} has the partition {name} to {:#x}, {missing} B behind the end of the file",
                offset_bytes.saturating_add(size_bytes)
            ));
        }
        if let Some(before) = parts.iter().find(|part| part.offset_bytes + part.size_bytes > offset_bytes) {
            doubts.push(format!("{table} has the partitions {} and {name} over each other", before.name));
        }
        if left > 0 {
            parts.push(Defined { name, offset_bytes, size_bytes: left });
        }
    }
    (parts, doubts)
}

/// A name that can be one of a folder, and that no other partition has.
fn own_name(name: &str, number: usize, others: &[Defined]) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._- ".contains(letter);
    let plain: String = name.trim().chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let is_none = plain.trim_matches('.').is_empty();
    let name = if is_none { format!("part{number}") } else { plain };
    let is_taken = |name: &str| others.iter().any(|part| part.name == name);
    let others_of_it = (2..).map(|again| format!("{name}-{again}"));
    std::iter::once(name.clone()).chain(others_of_it).find(|name| !is_taken(name)).unwrap_or(name)
}
