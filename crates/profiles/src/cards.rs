//! The table `[ftl]` of a block device: what stands inside a card, as `ffslab calibrate --flashbench` finds it.

use crate::constant::{Amount, Picoseconds, Sourced, Whole};
use ffslab_sim::units::us_to_ns;
use schemars::JsonSchema;
use serde::Deserialize;

/// Flash behind a translation layer, where a page is one of all dies that work together.
#[derive(Clone, Debug, PartialEq)]
pub struct CardProfile {
    /// Name of the mapping.
    pub ftl: String,
    pub page_bytes: u32,
    pub segment_bytes: u32,
    /// Erase blocks, each a segment; those that the layer keeps back are among them.
    pub segments_count: u32,
    /// Share of the flash that the host does not see.
    pub spare_share: f64,
    pub buffer_pages: u32,
    pub log_blocks: Option<u32>,
    pub random_segments_count: u32,
    pub random_log_pages: Option<u32>,
    /// Blocks of an SLC cache; `None`: there is none.
    pub slc_cache_blocks: Option<u32>,
    /// Bits a cell of the other blocks.
    pub cell_bits: u32,
    pub page_read_ns: u64,
    pub page_program_ns: u64,
    pub erase_ns: u64,
    pub bus_ps_per_byte: u64,
    /// Of pages whose cells hold several bits.
    pub several_bits_read_ns: u64,
    pub several_bits_program_ns: u64,
    /// What a read and a write take longer in another segment than that of the command before.
    pub read_segment_ns: u64,
    pub write_segment_ns: u64,
}

/// A share below 1.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub(crate) struct Share(f64);

impl TryFrom<f64> for Share {
    type Error = String;
    fn try_from(value: f64) -> Result<Share, String> {
        if (0.0..1.0).contains(&value) {
            Ok(Share(value))
        } else {
            Err(format!("{value} must be a share from 0 to below 1"))
        }
    }
}

/// A number of things, which may be none.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub(crate) struct Count(u32);

impl TryFrom<f64> for Count {
    type Error = String;
    fn try_from(value: f64) -> Result<Count, String> {
        if value.fract() == 0.0 && (0.0..=1e6).contains(&value) {
            Ok(Count(value as u32))
        } else {
            Err(format!("{value} must be a whole number from 0 to 1e6"))
        }
    }
}

/// What stands inside a card.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardTable {
    /// The mapping: "open-segments", "bast", "fast", "slc-cache", "page-map" ... (docs/ftl.md).
    ftl: Sourced<String>,
    /// Bytes of a page of all dies that work together.
    #[serde(rename = "page_B")]
    page_bytes: Sourced<Whole>,
    /// Allocation unit: an erase block of all these dies.
    #[serde(rename = "segment_KiB")]
    segment_kib: Sourced<Whole>,
    /// Segments of the flash, with those that the layer keeps back.
    segments: Sourced<Whole>,
    /// Share of the flash that the host does not see.
    spare: Sourced<Share>,
    /// Pages of the write buffer.
    buffer_pages: Option<Sourced<Count>>,
    /// Open segments, or log blocks.
    log_blocks: Option<Sourced<Whole>>,
    /// Open segments that take pages in any order.
    random_segments: Option<Sourced<Count>>,
    /// Pages after which such a segment is merged; a whole segment if absent.
    random_log_pages: Option<Sourced<Whole>>,
    /// Blocks of the SLC cache.
    slc_cache_blocks: Option<Sourced<Whole>>,
    /// Bits a cell of the blocks beside the SLC cache.
    cell_bits: Option<Sourced<Whole>>,
    /// A page is read.
    page_read_us: Sourced<Amount>,
    /// A page is programmed.
    page_program_us: Sourced<Amount>,
    /// A segment is erased.
    erase_us: Sourced<Amount>,
    /// A byte goes from or to the flash; part of the page's times if absent.
    #[serde(rename = "bus_ns_per_B")]
    bus_ns_per_byte: Option<Sourced<Picoseconds>>,
    /// A page with several bits a cell is read.
    several_bits_read_us: Option<Sourced<Amount>>,
    /// A page with several bits a cell is programmed.
    several_bits_program_us: Option<Sourced<Amount>>,
    /// What a read takes longer in another segment than that of the command before.
    read_segment_us: Option<Sourced<Amount>>,
    /// The same of a write.
    write_segment_us: Option<Sourced<Amount>>,
}

impl CardTable {
    pub fn card(self) -> CardProfile {
        let whole = |number: &Sourced<Whole>| number.value.0 as u32;
        let count = |number: &Option<Sourced<Count>>| number.as_ref().map_or(0, |count| count.value.0);
        let ns = |us: &Sourced<Amount>| us_to_ns(us.value.0);
        let some_ns = |us: &Option<Sourced<Amount>>| us.as_ref().map(ns);
        let (page_read_ns, page_program_ns) = (ns(&self.page_read_us), ns(&self.page_program_us));
        CardProfile {
            ftl: self.ftl.value,
            page_bytes: whole(&self.page_bytes),
            segment_bytes: whole(&self.segment_kib) * 1024,
            segments_count: whole(&self.segments),
            spare_share: self.spare.value.0,
            buffer_pages: count(&self.buffer_pages),
            log_blocks: self.log_blocks.as_ref().map(whole),
            random_segments_count: count(&self.random_segments),
            random_log_pages: self.random_log_pages.as_ref().map(whole),
            slc_cache_blocks: self.slc_cache_blocks.as_ref().map(whole),
            cell_bits: self.cell_bits.as_ref().map_or(2, whole),
            page_read_ns,
            page_program_ns,
            erase_ns: ns(&self.erase_us),
            bus_ps_per_byte: self.bus_ns_per_byte.as_ref().map_or(0, |bus| bus.value.0),
            several_bits_read_ns: some_ns(&self.several_bits_read_us).unwrap_or(page_read_ns),
            several_bits_program_ns: some_ns(&self.several_bits_program_us).unwrap_or(page_program_ns),
            read_segment_ns: some_ns(&self.read_segment_us).unwrap_or(0),
            write_segment_ns: some_ns(&self.write_segment_us).unwrap_or(0),
        }
    }
}
