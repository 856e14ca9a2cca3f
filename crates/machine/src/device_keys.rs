//! The key `device` of `[stack]`: a block device by its profile, or flash behind a translation layer.

use crate::error::MachineError;
use crate::fault_keys::FaultKeys;
use crate::flash_device::{commands_of, pages_of, FlashDevice};
use crate::media::{self, MlcSpec, PartitionSpec, NAND, SPI_NAND};
use crate::policy_keys::{wrong_victim, PolicyKeys};
use ffslab_block::ftl::Translated;
use ffslab_block::{Device, DeviceProfile, FtlSettings};
use ffslab_flash::Torn;
use ffslab_ftl::{mapping, BlockDevice, BufferRule, FtlConfig, Mapping, SlcCacheConfig, Victim, MAPPINGS};
use ffslab_mtd::spi_nand::Wiring;
use ffslab_mtd::striped::{ChipCommands, Stripes};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_profiles::{block_device, Profile};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::Sim;
use ffslab_text::toml_text::unknown;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// A board whose driver takes no time: the controller inside a card is not the board's processor.
const CONTROLLER: &str = "zero-overhead";
const SPARE_SHARE: f64 = 0.1;

/// A block device: the name or path of a profile, or a table that describes flash behind a translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DeviceKeys {
    Profile(String),
    Flash(Box<FtlKeys>),
}

/// Flash behind a translation layer. Who chooses victims says `[stack.policy]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtlKeys {
    /// The mapping: "page-map", "dftl", "block-map", "bast", "fast", "open-segments", "slc-cache" (`docs/ftl.md`).
    pub ftl: String,
    /// Name or path of a part: raw NAND or SPI NAND.
    pub part: String,
    /// Of SPI NAND: name or path of the board whose SPI controller and kernel drive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// Erase blocks of the chip, or of each die; all that the part has if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Channels, and dies of the part on each of them; 1 if absent. Erase blocks of the layer reach over all dies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dies: Option<u32>,
    /// Planes of a die, among which its blocks are divided; 1 if absent. Pages of the layer reach over all planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,
    /// Pages that are written or read in a row go through the cache registers of the part, as far as its profile says that it can
    /// (false if absent). What is written then lasts after a flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_commands: Option<bool>,
    /// With `cache_commands`: pages that merges and collections read before they program them (8 if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_row_pages: Option<u32>,
    /// Merges and collections copy a page inside the chip so many times in a row, then through the controller with its ECC (0 if absent: never).
    #[serde(rename = "copy_back", default, skip_serializing_if = "Option::is_none")]
    pub copy_backs_max_count: Option<u32>,
    /// Share of the flash that the host does not see (0.1 if absent).
    #[serde(rename = "spare", default, skip_serializing_if = "Option::is_none")]
    pub spare_share: Option<f64>,
    /// What the host's commands cost: a profile of a block device, of which what its medium takes is left out. Absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Pages of the write buffer; 0 (if absent): what is written is on flash when the command ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_pages: Option<u32>,
    /// Which pages leave the write buffer first: "arrival" (if absent), or "bplru": whole blocks, padded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<String>,
    /// Collection begins when no more blocks are free (3, dftl 5 if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_free_blocks: Option<u32>,
    /// page-map, dftl: while nobody waits, blocks are collected until so many are free; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_free_blocks: Option<u32>,
    /// What collection moves goes to blocks of its own (true if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_apart: Option<bool>,
    /// A checkpoint of the map is written after so many pages; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_every_pages: Option<u32>,
    /// dftl: entries of the map that RAM holds (1024 if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_cache_entries: Option<u32>,
    /// last: requests of so many pages and more are sequences (4 if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential_request_pages: Option<u32>,
    /// block-map, bast, fast, last: log or replacement blocks; open-segments: how many are open (8 if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_blocks: Option<u32>,
    /// open-segments: how many of them take pages in any order (none if absent).
    #[serde(default, rename = "random_segments", skip_serializing_if = "Option::is_none")]
    pub random_segments_count: Option<u32>,
    /// open-segments: pages after which such a segment is merged (a whole one if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_log_pages: Option<u32>,
    /// slc-cache: its blocks (4 if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_cache_blocks: Option<u32>,
    /// slc-cache: bits a cell of the other blocks (2 if absent); blocks of the cache hold so many times fewer pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_bits: Option<u32>,
    /// slc-cache: how much longer a page of the other blocks is read and programmed (25 and 700 if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several_bits_read_further_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several_bits_program_further_us: Option<f64>,
    /// Of a part whose cells hold several bits, only the first of the pages that share cells is used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slc_mode: bool,
    /// What is wrong with the chip, as in `[stack.faults]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultKeys>,
}

/// Either, to be built.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// What commands cost.
    pub profile: DeviceProfile,
    /// `None`: the device has constant costs and bytes alone.
    pub flash: Option<Box<FlashDevice>>,
}

/// A block device to build, with its sizes.
#[derive(Clone, Debug)]
pub struct DiskSpec {
    pub device: DeviceSpec,
    pub media_block_bytes: u32,
    pub media_blocks: u32,
    pub image: Option<PathBuf>,
}

/// The RAM disk of the study by Agarwal et al. (2018): 512 B x 262,144.
pub(crate) const DISK_KIB: u32 = 128 << 10;
/// A device is held in memory.
const DEVICE_KIB_MAX: u32 = 2 << 20;

/// A size in memory, filled in.
///
/// Errors: one that is too small or too large for memory.
pub(crate) fn size_kib(device_kib: &mut Option<u32>, by_default_kib: u32) -> Result<u32, MachineError> {
    let kib = *device_kib.get_or_insert(by_default_kib);
    if (64..=DEVICE_KIB_MAX).contains(&kib) {
        Ok(kib)
    } else {
        Err(MachineError::number("device_KiB", kib, format!("64 to {DEVICE_KIB_MAX} is needed")))
    }
}

impl DiskSpec {
    /// The device that keys of `[stack]` describe, empty; absent sizes are filled in.
    ///
    /// Errors: as [`DeviceKeys::device`]; sizes that no device has.
    pub(crate) fn of(
        keys: &DeviceKeys,
        policy: Option<&PolicyKeys>,
        media_block_bytes: &mut Option<u32>,
        device_kib: &mut Option<u32>,
        base_dir: &Path,
    ) -> Result<DiskSpec, MachineError> {
        let media_block_bytes = *media_block_bytes.get_or_insert(512);
        if !media_block_bytes.is_power_of_two() || !(512..=4096).contains(&media_block_bytes) {
            let needed = "512, 1024, 2048 or 4096 is needed";
            return Err(MachineError::number("media_block_B", media_block_bytes, needed));
        }
        let device = keys.device(media_block_bytes, policy, base_dir)?;
        let media_blocks = match (&device.flash, *device_kib) {
            (Some(_), Some(kib)) => {
                let needed = "device.blocks and device.spare say it: leave it out";
                return Err(MachineError::number("device_KiB", kib, needed));
            }
            (Some(flash), None) => flash.media_blocks(),
            (None, _) => (u64::from(size_kib(device_kib, DISK_KIB)?) * 1024 / u64::from(media_block_bytes)) as u32,
        };
        Ok(DiskSpec { device, media_block_bytes, media_blocks, image: None })
    }

    pub fn bytes(&self) -> usize {
        self.media_blocks as usize * self.media_block_bytes as usize
    }
}

impl<'de> Deserialize<'de> for DeviceKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<DeviceKeys, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = DeviceKeys;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(
                    "the name of a block device, or a table such as { ftl = \"page-map\", part = \"k9f1g08u0a\" }",
                )
            }

            fn visit_str<E>(self, name: &str) -> Result<DeviceKeys, E> {
                Ok(DeviceKeys::Profile(name.to_string()))
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<DeviceKeys, A::Error> {
                Ok(DeviceKeys::Flash(Box::new(FtlKeys::deserialize(MapAccessDeserializer::new(table))?)))
            }
        }

        from.deserialize_any(Either)
    }
}

impl DeviceKeys {
    /// Names of profiles, which may be paths.
    pub fn profiles_mut(&mut self) -> Vec<&mut String> {
        match self {
            DeviceKeys::Profile(name) => vec![name],
            DeviceKeys::Flash(keys) => {
                let names = [Some(&mut keys.part), keys.board.as_mut(), keys.interface.as_mut()];
                names.into_iter().flatten().collect()
            }
        }
    }

    /// The device with sectors of this size, whose layer asks these policies.
    ///
    /// Errors: unknown profiles, mappings and policies, values that do not fit.
    pub fn device(
        &self,
        sector_bytes: u32,
        policy: Option<&PolicyKeys>,
        base_dir: &Path,
    ) -> Result<DeviceSpec, MachineError> {
        match self {
            DeviceKeys::Profile(name) => {
                let (profile, card) = ffslab_profiles::card(name, base_dir)?;
                let Some(card) = card else {
                    no_policy(policy, name)?;
                    return Ok(DeviceSpec { profile, flash: None });
                };
                let flash = FlashDevice::of_card(&card, sector_bytes, policy.unwrap_or(&PolicyKeys::default()))?;
                Ok(DeviceSpec { profile, flash: Some(Box::new(flash)) })
            }
            DeviceKeys::Flash(keys) => keys.device(sector_bytes, policy.unwrap_or(&PolicyKeys::default()), base_dir),
        }
    }
}

/// Errors: a policy for a device that has no translation layer.
pub(crate) fn no_policy(policy: Option<&PolicyKeys>, of: &str) -> Result<(), MachineError> {
    policy.map_or(Ok(()), |policy| policy.only(&[], of))
}

/// The settings of a translation layer that asks these policies.
///
/// Errors: names that are not known, a rule for what no layer decides.
pub(crate) fn decided_by(policy: &PolicyKeys, by_default: FtlConfig) -> Result<FtlConfig, MachineError> {
    policy.only(&OF_LAYERS, "block-device")?;
    let victim = policy.victim.as_deref().map(str::parse::<Victim>).transpose().map_err(wrong_victim)?;
    Ok(FtlConfig {
        victim: victim.unwrap_or(by_default.victim),
        free: policy.free()?,
        levelling: policy.levelling()?.unwrap_or(by_default.levelling),
        stream: policy.stream()?.unwrap_or(by_default.stream),
        map_eviction: policy.map_eviction()?.unwrap_or(by_default.map_eviction),
        seed: policy.seed,
        ..by_default
    })
}

/// Decisions that a translation layer takes.
const OF_LAYERS: [&str; 5] = ["victim", "free", "levelling", "stream", "map_eviction"];

impl FtlKeys {
    fn device(&self, sector_bytes: u32, policy: &PolicyKeys, base_dir: &Path) -> Result<DeviceSpec, MachineError> {
        let mapping = mapping_of(&self.ftl)?;
        let spare = self.spare_share.unwrap_or(SPARE_SHARE);
        if !(0.0..1.0).contains(&spare) {
            let needed = "a share is needed, such as 0.07".to_string();
            return Err(MachineError::Value { key: "device.spare", value: spare.to_string(), needed });
        }
        let (chip, commands, endurance_erases) = self.chip(base_dir)?;
        let stripes = self.stripes(&chip)?;
        let pages = pages_of(&chip, stripes);
        let page_bytes = chip.geometry.page_bytes * stripes.unwrap_or(Stripes::ONE).planes;
        if !page_bytes.is_multiple_of(sector_bytes) {
            let needed = format!("a page of {} holds {page_bytes} B", self.part);
            return Err(MachineError::number("media_block_B", sector_bytes, needed));
        }
        self.check_commands(mapping, commands)?;
        let config = self.config(mapping, (f64::from(pages) * (1.0 - spare)) as u32, policy)?;
        let config = FtlConfig { endurance_erases: endurance_erases.unwrap_or(config.endurance_erases), ..config };
        let buffer_pages = self.buffer_pages.unwrap_or(0);
        let settings = FtlSettings { mapping, config, buffer_pages, buffer: self.buffer_rule()?, sector_bytes };
        let profile = match &self.interface {
            Some(name) => block_device(name, base_dir)?.interface_alone(),
            None => DeviceProfile { title: format!("{} on {}", mapping.name, self.part), ..DeviceProfile::default() },
        };
        Ok(DeviceSpec { profile, flash: Some(Box::new(FlashDevice { chip, stripes, commands, settings, spare })) })
    }

    /// Errors: a rule that there is not, or one that needs a buffer where there is none.
    fn buffer_rule(&self) -> Result<BufferRule, MachineError> {
        let Some(name) = &self.buffer else { return Ok(BufferRule::default()) };
        let wrong = |needed: String| MachineError::Value { key: "device.buffer", value: name.clone(), needed };
        let rule = BufferRule::find(name);
        let rule = rule.ok_or_else(|| wrong(format!("one of {} is needed", BufferRule::NAMES.join(", "))))?;
        if rule != BufferRule::Arrival && self.buffer_pages.unwrap_or(0) == 0 {
            Err(wrong("it needs a buffer: give device.buffer_pages".to_string()))
        } else {
            Ok(rule)
        }
    }

    /// The part with who drives it: a controller that costs nothing beyond a parallel bus, or a board with a serial one.
    ///
    /// Errors: another kind of part, no board for a serial one.
    fn profile(&self, base_dir: &Path) -> Result<Profile, MachineError> {
        let kind = Profile::load(CONTROLLER, Some(&self.part), None, base_dir)?.part.kind();
        let wrong = |needed: String| Err(MachineError::word("device.part", &self.part, needed));
        match &self.board {
            Some(board) if SPI_NAND.of_parts.contains(&kind) => {
                Ok(Profile::load(board, Some(&self.part), None, base_dir)?)
            }
            None if NAND.of_parts.contains(&kind) => Ok(Profile::load(CONTROLLER, Some(&self.part), None, base_dir)?),
            None if SPI_NAND.of_parts.contains(&kind) => {
                wrong("it stands on a serial bus: device.board names the board whose controller drives it".to_string())
            }
            Some(board) if NAND.of_parts.contains(&kind) => {
                let needed = "the controller inside the device drives raw NAND: leave it out";
                Err(MachineError::word("device.board", board, needed))
            }
            _ => {
                let (one, other) = (NAND.title, SPI_NAND.title);
                wrong(format!("it is a {}; a translation layer stands on {one} and {other}", kind.title()))
            }
        }
    }

    /// The chip as its controller drives it, its further commands, and the erases that each of its blocks bears, if its data sheet says it.
    fn chip(&self, base_dir: &Path) -> Result<(PartitionSpec, ChipCommands, Option<u32>), MachineError> {
        let mut profile = self.profile(base_dir)?;
        match self.blocks {
            Some(0) => return Err(MachineError::number("device.blocks", 0u64, "a chip has erase blocks")),
            Some(blocks) => profile.part.set_blocks(blocks),
            None => {}
        }
        let spi_nand = media::wiring(&profile)?;
        let geometry = profile.part.geometry();
        let timing = spi_nand.as_ref().map_or(profile.part.timing(), |wiring| wiring.timing(profile.part.timing()));
        let mut driver = profile.driver();
        driver.ecc = spi_nand.as_ref().map_or(driver.ecc, Wiring::ecc);
        let chip = PartitionSpec {
            geometry,
            timing,
            rules: profile.part.rules(),
            driver,
            mlc: MlcSpec::of(&profile.part, timing, self.slc_mode)?,
            spi_nand,
            nor: None,
            faults: self.faults.as_ref().map(FaultKeys::faults).transpose()?.unwrap_or_default(),
            ageing: None,
            first_block: 0,
            partition_blocks: geometry.blocks,
        };
        Ok((chip, commands_of(&profile.part), profile.part.endurance_erases()))
    }

    fn config(&self, mapping: &Mapping, logical_pages: u32, policy: &PolicyKeys) -> Result<FtlConfig, MachineError> {
        let by_default = decided_by(policy, FtlConfig::new(logical_pages))?;
        Ok(FtlConfig {
            gc_free_blocks: self.gc_free_blocks.unwrap_or(mapping.gc_free_blocks),
            idle_free_blocks: self.idle_free_blocks,
            cache_commands: self.cache_commands.unwrap_or(by_default.cache_commands),
            copy_row_pages: self.copy_row_pages.unwrap_or(by_default.copy_row_pages),
            copy_backs_max_count: self.copy_backs_max_count.unwrap_or(by_default.copy_backs_max_count),
            gc_apart: self.gc_apart.unwrap_or(by_default.gc_apart),
            checkpoint_every_pages: self.checkpoint_every_pages,
            map_cache_entries_count: self.map_cache_entries,
            log_blocks: self.log_blocks.unwrap_or(by_default.log_blocks),
            sequential_request_pages: self.sequential_request_pages.unwrap_or(by_default.sequential_request_pages),
            random_segments_count: self.random_segments_count.unwrap_or(by_default.random_segments_count),
            random_log_pages: self.random_log_pages,
            slc_cache: Some(self.slc_cache()?),
            ..by_default
        })
    }

    /// Of the cache, if there is one.
    fn slc_cache(&self) -> Result<SlcCacheConfig, MachineError> {
        let by_default = SlcCacheConfig::default();
        let ns = |key, us: Option<f64>, default_ns| match us {
            Some(us) if !(0.0..=1e6).contains(&us) => {
                Err(MachineError::Value { key, value: us.to_string(), needed: "0 to 1e6 us".to_string() })
            }
            Some(us) => Ok(us_to_ns(us)),
            None => Ok(default_ns),
        };
        let read_key = "device.several_bits_read_further_us";
        let program_key = "device.several_bits_program_further_us";
        Ok(SlcCacheConfig {
            blocks: self.slc_cache_blocks.unwrap_or(by_default.blocks),
            cell_bits: self.cell_bits.unwrap_or(by_default.cell_bits),
            read_further_ns: ns(read_key, self.several_bits_read_further_us, by_default.read_further_ns)?,
            program_further_ns: ns(program_key, self.several_bits_program_further_us, by_default.program_further_ns)?,
        })
    }
}

/// Errors: there is none of this name.
pub(crate) fn mapping_of(name: &str) -> Result<&'static Mapping, MachineError> {
    let known: Vec<&str> = MAPPINGS.iter().map(|mapping| mapping.name).collect();
    mapping::find(name).ok_or_else(|| MachineError::Device(unknown("device.ftl", name, &known)))
}

impl DeviceSpec {
    /// The device as it is bought, holding an image, and its flash if a layer stands above it. That takes no time.
    ///
    /// Errors: as [`FlashDevice::make`] and [`FlashDevice::format`].
    pub fn holding(&self, image: Vec<u8>, sector_bytes: u32, sim: &Sim) -> Result<(Device, Option<Mtd>), MachineError> {
        let Some(layer) = &self.flash else {
            return Ok((Device::with_image(self.profile.clone(), sector_bytes, image), None));
        };
        let flash = layer.make(sim)?;
        let (made, _) = sim.beside_the_clock(sim.now_ns(), &mut Vec::new(), || -> Result<Translated, MachineError> {
            let mut made = layer.format(&flash)?;
            if image.iter().any(|&byte| byte != 0) {
                let written = made.disk_mut().write(0, &image).and_then(|()| made.disk_mut().flush());
                written.map_err(|error| layer.said(&error))?;
            }
            Ok(made)
        });
        Ok((Device::translated(self.profile.clone(), made?), Some(flash)))
    }

    /// The device with what another one held when it was switched off.
    ///
    /// Errors: it was another device.
    pub fn restored(
        &self,
        held: &MediumImage,
        sector_bytes: u32,
        sim: &Sim,
    ) -> Result<(Device, Option<Mtd>), MachineError> {
        match (&self.flash, held) {
            (None, MediumImage::Bytes(bytes)) => self.holding(bytes.clone(), sector_bytes, sim),
            (Some(layer), held) => {
                let flash = layer.make(sim)?;
                flash.restore(held)?;
                let (found, _) = sim.beside_the_clock(sim.now_ns(), &mut Vec::new(), || layer.mount(&flash));
                Ok((Device::translated(self.profile.clone(), found?), Some(flash)))
            }
            _ => Err(MachineError::OtherMedium),
        }
    }

    /// The device after its power failed and came back. The host waits until it has found its map.
    ///
    /// Errors: as [`FlashDevice::mount`].
    pub fn restarted(&self, before: &Device, flash: Option<&Mtd>) -> Result<Device, MachineError> {
        let (Some(layer), Some(flash)) = (&self.flash, flash) else {
            let image = before.image().to_vec();
            return Ok(Device::with_image(self.profile.clone(), before.media_block_bytes(), image));
        };
        flash.cut_power_after(0, Torn::Nothing);
        flash.restart();
        Ok(Device::translated(self.profile.clone(), layer.mount(flash)?).after(before))
    }

    /// What a device holds, looked at without an operation.
    ///
    /// Errors: what cannot be read any more.
    pub fn image(&self, device: &Device, flash: Option<&Mtd>) -> Result<Vec<u8>, MachineError> {
        match (&self.flash, flash) {
            (Some(layer), Some(flash)) => layer.image(&flash.snapshot()),
            _ => Ok(device.image().to_vec()),
        }
    }
}
