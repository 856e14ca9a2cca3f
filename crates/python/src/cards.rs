//! Cards under flashbench's patterns, for `ffslab calibrate --flashbench`.

use ffslab_ftl::flashbench::{self, Card, Done, Line, Place, OPEN_AU_NR_MAX};
use ffslab_ftl::{mapping, FtlConfig, SlcCacheConfig};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::border::{to_json, InputError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedCard {
    ftl: String,
    page_bytes: u32,
    segment_bytes: u32,
    spare_share: f64,
    buffer_pages: u32,
    log_blocks: u32,
    random_segments: u32,
    random_log_pages: Option<u32>,
    slc_cache_blocks: Option<u32>,
    cell_bits: u32,
}

#[derive(Deserialize)]
#[serde(tag = "pattern", rename_all = "kebab-case", deny_unknown_fields)]
enum AskedLine {
    Align { align_bytes: u64, block_bytes: u32, place: String },
    OpenAu { erase_block_bytes: u32, block_bytes: u32, erase_blocks: u32, is_random: bool },
}

#[derive(Serialize)]
struct Counted {
    calls: u64,
    bytes: u64,
    segment_changes: u64,
    reads: u64,
    programs: u64,
    several_bits_reads: u64,
    several_bits_programs: u64,
    erases: u64,
}

impl From<Done> for Counted {
    fn from(done: Done) -> Counted {
        Counted {
            calls: done.calls,
            bytes: done.bytes,
            segment_changes: done.segment_changes_count,
            reads: done.flash.reads,
            programs: done.flash.programs,
            several_bits_reads: done.flash.several_bits_reads,
            several_bits_programs: done.flash.several_bits_programs,
            erases: done.flash.erases,
        }
    }
}

fn card_of(asked: AskedCard) -> Result<Card, String> {
    let mapping =
        mapping::find(&asked.ftl).ok_or_else(|| format!("ftl = \"{}\": there is no such mapping", asked.ftl))?;
    let sizes =
        [("page_bytes", asked.page_bytes, 512..=32768), ("segment_bytes", asked.segment_bytes, 65536..=1 << 27)];
    for (name, value, allowed) in sizes {
        if !value.is_power_of_two() || !allowed.contains(&value) {
            return Err(format!("{name} = {value}: a power of two from {} to {}", allowed.start(), allowed.end()));
        }
    }
    let cache = asked.slc_cache_blocks.map(|blocks| SlcCacheConfig {
        blocks,
        cell_bits: asked.cell_bits,
        ..Default::default()
    });
    let config = FtlConfig {
        log_blocks: asked.log_blocks,
        random_segments_count: asked.random_segments,
        random_log_pages: asked.random_log_pages,
        slc_cache: cache,
        ..FtlConfig::new(1)
    };
    Ok(Card {
        mapping,
        config,
        page_bytes: asked.page_bytes,
        segment_bytes: asked.segment_bytes,
        spare_share: asked.spare_share,
        buffer_pages: asked.buffer_pages,
    })
}

fn line_of(asked: AskedLine) -> Result<Line, String> {
    let is_size = |bytes: u64| bytes.is_power_of_two() && bytes >= 512;
    match asked {
        AskedLine::Align { align_bytes, block_bytes, place } => {
            // flashbench begins at alignments of 3 x 2^n on devices of such sizes.
            if !is_size(u64::from(block_bytes)) || align_bytes % 512 != 0 || align_bytes < 2 * u64::from(block_bytes) {
                return Err(format!(
                    "align {align_bytes}, blocks of {block_bytes} bytes: not what flashbench -a reads"
                ));
            }
            let place = match place.as_str() {
                "pre" => Place::Pre,
                "on" => Place::On,
                _ => Place::Post,
            };
            Ok(Line::Align { align_bytes, block_bytes, place })
        }
        AskedLine::OpenAu { erase_block_bytes, block_bytes, erase_blocks, is_random } => {
            let sizes_fit = is_size(u64::from(erase_block_bytes)) && is_size(u64::from(block_bytes));
            let positions = erase_block_bytes.checked_div(block_bytes).unwrap_or(0);
            if !sizes_fit || !(1..1 << 15).contains(&positions) || erase_block_bytes > 1 << 27 {
                return Err(format!(
                    "erase blocks of {erase_block_bytes} bytes, blocks of {block_bytes}: powers of two, 1 to 32,767 blocks each"
                ));
            }
            if !(1..=OPEN_AU_NR_MAX).contains(&erase_blocks) {
                return Err(format!("--open-au-nr={erase_blocks}: 1 to {OPEN_AU_NR_MAX}"));
            }
            Ok(Line::OpenAu { erase_block_bytes, block_bytes, erase_blocks, is_random })
        }
    }
}

/// What a card (JSON) does for lines of flashbench (JSON list), one after the other: calls, bytes, and operations of its flash
/// (JSON list).
#[pyfunction]
pub fn card_operations(py: Python<'_>, card: &str, lines: &str) -> PyResult<String> {
    let broken = |error: serde_json::Error| PyRuntimeError::new_err(error.to_string());
    let card = card_of(serde_json::from_str(card).map_err(broken)?).map_err(InputError::new_err)?;
    let asked: Vec<AskedLine> = serde_json::from_str(lines).map_err(broken)?;
    let lines = asked.into_iter().map(line_of).collect::<Result<Vec<_>, _>>().map_err(InputError::new_err)?;
    let done = py.detach(|| flashbench::run(&card, &lines).map_err(|error| error.to_string()));
    let counted: Vec<Counted> = done.map_err(InputError::new_err)?.into_iter().map(Counted::from).collect();
    to_json(&counted)
}
