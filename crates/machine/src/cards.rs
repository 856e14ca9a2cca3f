//! What stands inside a card, as its profile says it: flash of several dies behind a translation layer.

use crate::device_keys::{decided_by, mapping_of};
use crate::error::MachineError;
use crate::flash_device::FlashDevice;
use crate::media::{MlcSpec, PartitionSpec};
use crate::policy_keys::PolicyKeys;
use ffslab_block::FtlSettings;
use ffslab_flash::{Faults, Geometry, Rules, Timing};
use ffslab_ftl::{BufferRule, FtlConfig, SlcCacheConfig};
use ffslab_mtd::striped::ChipCommands;
use ffslab_mtd::Driver;
use ffslab_profiles::CardProfile;

impl FlashDevice {
    /// The flash of a card with sectors of this size. It is driven by the card's controller, whose time is in its page times.
    ///
    /// Errors: a mapping or policy that there is not, sizes that do not fit.
    pub(crate) fn of_card(
        card: &CardProfile,
        sector_bytes: u32,
        policy: &PolicyKeys,
    ) -> Result<FlashDevice, MachineError> {
        let mapping = mapping_of(&card.ftl)?;
        if !card.page_bytes.is_multiple_of(sector_bytes) {
            let needed = format!("a page of the card holds {} B", card.page_bytes);
            return Err(MachineError::number("media_block_B", sector_bytes, needed));
        }
        if !card.segment_bytes.is_multiple_of(card.page_bytes) {
            let needed = format!("a segment of {} B has a whole number of pages", card.segment_bytes);
            return Err(MachineError::number("ftl.page_B", card.page_bytes, needed));
        }
        let chip = chip(card);
        let pages = f64::from(chip.geometry.pages_per_block * chip.partition_blocks);
        let by_default = decided_by(policy, FtlConfig::new((pages * (1.0 - card.spare_share)) as u32))?;
        let slc_cache = card.slc_cache_blocks.map(|blocks| SlcCacheConfig {
            blocks,
            cell_bits: card.cell_bits,
            read_further_ns: card.several_bits_read_ns.saturating_sub(card.page_read_ns),
            program_further_ns: card.several_bits_program_ns.saturating_sub(card.page_program_ns),
        });
        let config = FtlConfig {
            gc_free_blocks: mapping.gc_free_blocks,
            log_blocks: card.log_blocks.unwrap_or(by_default.log_blocks),
            random_segments_count: card.random_segments_count,
            random_log_pages: card.random_log_pages,
            slc_cache,
            ..by_default
        };
        let settings =
            FtlSettings { mapping, config, buffer_pages: card.buffer_pages, buffer: BufferRule::Arrival, sector_bytes };
        Ok(FlashDevice { chip, stripes: None, commands: ChipCommands::default(), settings, spare: card.spare_share })
    }
}

/// The dies that work together as one chip, whose erase blocks are the card's segments.
fn chip(card: &CardProfile) -> PartitionSpec {
    let geometry = Geometry {
        page_bytes: card.page_bytes,
        oob_bytes: card.page_bytes / 32,
        pages_per_block: card.segment_bytes / card.page_bytes,
        blocks: card.segments_count,
    };
    let timing = Timing {
        read_ns: card.page_read_ns,
        program_ns: card.page_program_ns,
        erase_ns: card.erase_ns,
        bus_ps_per_byte: card.bus_ps_per_byte,
    };
    PartitionSpec {
        geometry,
        timing,
        rules: Rules { partial_programs_max: 1, in_order: true },
        driver: Driver::default(),
        mlc: MlcSpec::default(),
        spi_nand: None,
        nor: None,
        faults: Faults::default(),
        ageing: None,
        first_block: 0,
        partition_blocks: card.segments_count,
    }
}
