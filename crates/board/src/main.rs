//! # board: `inspect` and `extract` as one static program for the board itself
//!
//! **Role.** Looks into images and dumps of flash, and writes their files into a folder, where there is no Python: on the
//! board whose flash it is. All that it knows of images is in the crate `images`; here are words, text and files.
//!
//! **Follows.** The verbs `inspect` and `extract` of the command: their options and words, the JSON of `extract`.
//!
//! **Leaves out.** What a mount and reading would cost, which needs a profile of the board and a simulated machine;
//! the content of deleted files; reports.

mod extract;
mod inspect;
mod options;
mod text;

use ffslab_images::{ImageFormat, ImageFs, PartTree};
use options::{Asked, Options};
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;

/// The file systems whose images are read: name, title, format. `machine` has the table of all file systems, and with it a
/// whole simulator; a test compares the two.
const FORMATS: [(&str, &str, &dyn ImageFormat); 13] = [
    ("jffs2", "JFFS2", &ffslab_images::jffs2::InImages),
    ("yaffs2", "YAFFS2", &ffslab_images::yaffs2::InImages),
    ("ubifs", "UBIFS", &ffslab_images::ubifs::InImages),
    ("fat", "FAT", &ffslab_images::rtems_volumes::FatImages),
    ("rfs", "RFS", &ffslab_images::rtems_volumes::RfsImages),
    ("littlefs", "littlefs", &ffslab_images::littlefs::InImages),
    ("spiffs", "SPIFFS", &ffslab_images::spiffs::InImages),
    ("squashfs", "squashfs", &ffslab_images::squashfs::InImages),
    ("erofs", "EROFS", &ffslab_images::erofs::InImages),
    ("esp-nvs", "ESP-IDF's NVS", &ffslab_images::esp_nvs::InImages),
    ("zephyr-nvs", "Zephyr's NVS", &ffslab_images::zephyr_nvs::InImages),
    ("zephyr-zms", "Zephyr's ZMS", &ffslab_images::zephyr_zms::InImages),
    ("zephyr-fcb", "Zephyr's FCB", &ffslab_images::zephyr_fcb::InImages),
];

const EXIT_NEGATIVE: u8 = 1;
const EXIT_INPUT: u8 = 2;

fn formats() -> Vec<ImageFs> {
    FORMATS.into_iter().map(|(name, title, format)| ImageFs::new(name, title, Some(format))).collect()
}

fn main() -> ExitCode {
    let done = options::read(std::env::args_os().skip(1)).and_then(|asked| match asked {
        Asked::Help => Ok((options::USAGE.to_string(), false)),
        Asked::Version => Ok((format!("ffslab-board {}\n", env!("CARGO_PKG_VERSION")), false)),
        Asked::Run(options) if options.does_extract => extracted(&options),
        Asked::Run(options) => inspect::inspected(&options),
    });
    match done {
        // Whoever reads may have seen enough.
        Ok((text, is_negative)) => match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                eprintln!("ffslab-board: cannot write: {error}");
                ExitCode::from(EXIT_INPUT)
            }
            _ if is_negative => ExitCode::from(EXIT_NEGATIVE),
            _ => ExitCode::SUCCESS,
        },
        Err(error) => {
            eprintln!("ffslab-board: {error}");
            ExitCode::from(EXIT_INPUT)
        }
    }
}

/// The verb `extract`: what it prints, and whether something is wrong with the files, which stands on stderr.
fn extracted(options: &Options) -> Result<(String, bool), String> {
    let found = ffslab_images::read_trees(&options.image, &options.wanted, &formats())?;
    let mut told: Vec<String> = Vec::new();
    for tree in found.iter().filter_map(|found| found.tree.as_ref()) {
        told.extend(tree.notes.iter().cloned());
        for entry in &tree.entries {
            let name = text::path_text(&entry.path);
            told.extend(entry.error.iter().chain(&entry.missing).map(|line| format!("{name}: {line}")));
        }
    }
    if let Some(folder) = &options.folder {
        told.extend(extract::extract(&found, folder)?);
    }
    let shown = if options.json { listed_json(&found)? } else { listed_text(options, &found) };
    told.iter().for_each(|line| eprintln!("ffslab-board: {line}"));
    Ok((shown, !told.is_empty()))
}

fn listed_text(options: &Options, found: &[PartTree]) -> String {
    let image = text::one_line(&options.image.display().to_string());
    let is_listed = options.folder.is_none();
    let mut parts = Vec::new();
    for PartTree { part, tree } in found {
        let head = if part.name.is_empty() { String::new() } else { format!("{}: ", part.text()) };
        let holds = part.layout.as_ref().map_or_else(ToString::to_string, text::layout_text);
        let mut lines = vec![format!("{image}: {head}{holds}")];
        lines.extend(part.layout.iter().flat_map(text::notes));
        let entries = tree.iter().filter(|_| is_listed).flat_map(|tree| &tree.entries);
        lines.extend(entries.map(text::listing_line));
        parts.push(lines.join("\n"));
    }
    parts.join(if is_listed { "\n\n" } else { "\n" }) + "\n"
}

fn listed_json(found: &[PartTree]) -> Result<String, String> {
    let shown = match found {
        [PartTree { tree: Some(tree), .. }] => json!(text::table(tree)),
        _ => {
            let rows = found.iter().map(|PartTree { part, tree }| {
                json!({
                    "name": part.name,
                    "offset_B": part.offset_bytes,
                    "size_B": part.size_bytes,
                    "layout": part.layout.as_ref().ok(),
                    "files": tree.as_ref().map(text::table),
                })
            });
            json!({ "partitions": rows.collect::<Vec<_>>() })
        }
    };
    text::pretty(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formats_are_those_of_the_table() {
        let names = |all: Vec<ImageFs>| all.into_iter().map(|fs| (fs.name(), fs.title())).collect::<Vec<_>>();
        assert_eq!(names(formats()), names(ffslab_machine::file_systems::image_formats()));
    }
}
