//! Stores of keys and values, which stand in the place of a file system: sequential-storage, ekv, TicKV, which are linked; Zephyr's NVS,
//! ZMS and FCB and FlashDB of trees that a user has.

use super::demands::demand;
use super::descriptor::{Descriptor, Promises};
use super::flashdb::{self, FlashdbKeys};
use super::on_bare::{refuse_options, OnBare, PathSettings};
use super::sectors::{SectorKeys, TranslationName, OF_STORE};
use super::zephyr::{NVS, ZMS};
use super::zephyr_fcb::{self, ZephyrFcbKeys};
use crate::error::MachineError;
use crate::own_tables::{OwnKeys, OwnTables};
use ffslab_bare::paths::Make;
use ffslab_foreign::{nor_capabilities, StoreSetup, Translation};
use ffslab_fs::{KeyValueStore, PathFileSystem, WithoutFiles};
use ffslab_mtd::{Capabilities, Mtd};
use ffslab_stores::ekv::{self, EkvConfig};
use ffslab_stores::sequential::{self, SequentialCache, SequentialConfig};
use ffslab_stores::{is_blank, tickv, ConfigError, StoreError};
use ffslab_system::SystemError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub static SEQUENTIAL_STORAGE: Descriptor = Descriptor {
    name: "sequential-storage",
    title: "sequential-storage",
    about: "the map of the Rust crate: items are appended to a ring of pages of NOR flash",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Linked(Which::SequentialStorage)),
    image: None,
    promises: EACH_CALL,
};

pub static EKV: Descriptor = Descriptor {
    name: "ekv",
    title: "ekv",
    about: "the Rust crate: sorted files of keys and values on NOR flash, merged level by level",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Linked(Which::Ekv)),
    image: None,
    promises: EACH_CALL,
};

pub static TICKV: Descriptor = Descriptor {
    name: "tickv",
    title: "TicKV",
    about: "the Rust crate of Tock: values in regions of NOR flash that hashes of their keys name",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Linked(Which::Tickv)),
    image: None,
    promises: Promises {
        about: "what was set is there, but for the key that a cut catches while it is set: it may be gone",
        keeps_synced: false,
        ..Promises::SYNCED
    },
};

pub static ZEPHYR_NVS: Descriptor = Descriptor {
    name: NVS.name,
    title: "Zephyr's NVS",
    about:
        "the C code of Zephyr, compiled by `ffslab foreign build zephyr-nvs`: values under numbers in a ring of sectors",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Loaded {
        own_keys: &["store", "zephyr_nvs"],
        sectors_max: NVS.sectors_max,
        setup: |tables, medium| tables.of("zephyr_nvs").as_mut().map(|own| NVS.setup(own, medium)),
        none: MachineError::Without {
            key: "fs = \"zephyr-nvs\"",
            other: "zephyr_nvs.library",
            hint: "`ffslab foreign build zephyr-nvs --source DIR` makes one of your tree",
        },
    }),
    image: Some(&ffslab_images::zephyr_nvs::InImages),
    promises: EACH_CALL,
};

pub static ZEPHYR_ZMS: Descriptor = Descriptor {
    name: ZMS.name,
    title: "Zephyr's ZMS",
    about:
        "the C code of Zephyr, compiled by `ffslab foreign build zephyr-zms`: values under numbers in a ring of sectors",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Loaded {
        own_keys: &["store", "zephyr_zms"],
        sectors_max: ZMS.sectors_max,
        setup: |tables, medium| tables.of("zephyr_zms").as_mut().map(|own| ZMS.setup(own, medium)),
        none: MachineError::Without {
            key: "fs = \"zephyr-zms\"",
            other: "zephyr_zms.library",
            hint: "`ffslab foreign build zephyr-zms --source DIR` makes one of your tree",
        },
    }),
    image: Some(&ffslab_images::zephyr_zms::InImages),
    promises: EACH_CALL,
};

pub static ZEPHYR_FCB: Descriptor = Descriptor {
    name: zephyr_fcb::NAME,
    title: "Zephyr's FCB",
    about: "the C code of Zephyr, compiled by `ffslab foreign build zephyr-fcb`: a log of entries in a ring of sectors",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Loaded {
        own_keys: &["store", "zephyr_fcb"],
        sectors_max: zephyr_fcb::SECTORS_MAX,
        setup: |tables, medium| tables.of::<ZephyrFcbKeys>("zephyr_fcb").as_mut().map(|own| own.setup(medium)),
        none: MachineError::Without {
            key: "fs = \"zephyr-fcb\"",
            other: "zephyr_fcb.library",
            hint: "`ffslab foreign build zephyr-fcb --source DIR` makes one of your tree",
        },
    }),
    image: Some(&ffslab_images::zephyr_fcb::InImages),
    promises: Promises {
        about: "each entry whose append has returned is there, until a rotation erases its sector; one under way is there as a whole or not at all",
        ..Promises::SYNCED
    },
};

pub static FLASHDB: Descriptor = Descriptor {
    name: flashdb::NAME,
    title: "FlashDB",
    about: "the C code of FlashDB, compiled by `ffslab foreign build flashdb`: values under names in a ring of sectors",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Loaded {
        own_keys: &["store", "flashdb"],
        sectors_max: flashdb::SECTORS_MAX,
        setup: |tables, medium| tables.of::<FlashdbKeys>("flashdb").as_mut().map(|own| own.setup(medium)),
        none: MachineError::Without {
            key: "fs = \"flashdb\"",
            other: "flashdb.library",
            hint: "`ffslab foreign build flashdb --source DIR` makes one of your tree",
        },
    }),
    image: None,
    promises: EACH_CALL,
};

const EACH_CALL: Promises = Promises {
    about: "each set and each delete that has returned is there, and one under way happened as a whole or not at all",
    ..Promises::SYNCED
};

/// The configuration of the map of sequential-storage, as in `[stack.sequential_storage]`; the flash range is the partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SequentialStorageKeys {
    /// Words to which items are padded and which are programmed at once: 1, 4 or 32 bytes; 1 if absent.
    #[serde(rename = "word_B", default, skip_serializing_if = "Option::is_none")]
    pub word_bytes: Option<u32>,
    /// Buffer for an item with its key, which bounds the largest value; 1024 if absent.
    #[serde(rename = "buffer_B", default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u32>,
    /// What it keeps in memory; "none" if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<SequentialCacheName>,
    /// Keys of which `cache = "key-pointers"` knows the place; 64 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_keys: Option<u32>,
}

/// What sequential-storage keeps in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SequentialCacheName {
    /// Nothing.
    #[default]
    None,
    /// Which pages are open, in use, full.
    PageStates,
    /// That, and where in each page items begin and end.
    PagePointers,
    /// That, and where the newest item of each key is.
    KeyPointers,
}

impl From<SequentialCacheName> for SequentialCache {
    fn from(name: SequentialCacheName) -> SequentialCache {
        match name {
            SequentialCacheName::None => SequentialCache::None,
            SequentialCacheName::PageStates => SequentialCache::PageStates,
            SequentialCacheName::PagePointers => SequentialCache::PagePointers,
            SequentialCacheName::KeyPointers => SequentialCache::KeyPointers,
        }
    }
}

/// What ekv can be told at run time, as in `[stack.ekv]`; its sizes are set when it is compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EkvKeys {
    /// Which free page it takes first after a mount; absent: another one each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_seed: Option<u32>,
}

/// What a store of keys and values stands on, as in `[stack.store]` (`docs/key-value.md`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreKeys {
    /// "page-map": NAND, on which a page map in the program's RAM has sectors that can be overwritten, of which NOR is made; "none" if absent: the flash itself, which is
    /// to be NOR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationName>,
    /// With "page-map": share of the erase blocks that the store does not see, for garbage collection; 0.15 if absent.
    #[serde(rename = "spare", default, skip_serializing_if = "Option::is_none")]
    pub spare_share: Option<f64>,
}

impl OwnKeys for StoreKeys {}

impl OwnKeys for SequentialStorageKeys {}

impl OwnKeys for EkvKeys {}

impl StoreKeys {
    /// What stands between the flash and a store, with its size in bytes. `None`: nothing does.
    ///
    /// Errors: a medium that it does not work on, another translation.
    fn translation(&mut self, medium: &Capabilities) -> Result<Option<(Translation, u64)>, MachineError> {
        let name = *self.translation.get_or_insert(TranslationName::None);
        let other = match name {
            TranslationName::None | TranslationName::PageMap => None,
            TranslationName::WearLevelling => Some("\"wear-levelling\""),
            TranslationName::Dhara => Some("\"dhara\""),
        };
        demand(other.is_none(), "store.translation", other.unwrap_or_default(), || {
            "\"none\" or \"page-map\" can stand below a store".to_string()
        })?;
        if name == TranslationName::None && self.spare_share.is_none() {
            return Ok(None);
        }
        let sectors = SectorKeys {
            names: OF_STORE,
            translation: &mut self.translation,
            sector_size_bytes: &mut None,
            update_erases: &mut None,
            dhara_library: &None,
            gc_ratio: &mut None,
            spare_share: &mut self.spare_share,
        };
        match sectors.translation(medium)? {
            (map @ Translation::PageMap { logical_pages }, sector_bytes) => {
                Ok(Some((map, u64::from(logical_pages) * u64::from(sector_bytes))))
            }
            _ => Ok(None),
        }
    }
}

impl SequentialStorageKeys {
    /// Values that are absent are filled in.
    fn config(&mut self) -> SequentialConfig {
        let usual = SequentialConfig::default();
        SequentialConfig {
            word_bytes: *self.word_bytes.get_or_insert(usual.word_bytes),
            buffer_bytes: *self.buffer_bytes.get_or_insert(usual.buffer_bytes),
            cache: (*self.cache.get_or_insert_default()).into(),
            cache_keys: *self.cache_keys.get_or_insert(usual.cache_keys),
        }
    }
}

/// The keys of the tables as messages write them; others stand in `[stack]`.
const KEYS: [&str; 3] = ["sequential_storage.word_B", "sequential_storage.buffer_B", "sequential_storage.cache_keys"];

fn wrong(ConfigError { key, value, needed }: ConfigError) -> MachineError {
    let key = KEYS.iter().find(|known| known.ends_with(&format!(".{key}"))).copied().unwrap_or(key);
    MachineError::Value { key, value, needed }
}

#[derive(Clone, Copy)]
enum Which {
    SequentialStorage,
    Ekv,
    Tickv,
}

struct Linked(Which);

impl OnBare for Linked {
    fn own_keys(&self) -> &'static [&'static str] {
        match self.0 {
            Which::SequentialStorage => &["store", "sequential_storage"],
            Which::Ekv => &["store", "ekv"],
            Which::Tickv => &["store"],
        }
    }

    fn settings(&self, tables: &mut OwnTables, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError> {
        let ground = StoreGround::of(tables.of("store"), medium, self.blocks_max())?;
        let seen = ground.seen(medium);
        let store = match self.0 {
            Which::SequentialStorage => {
                let config = tables.of::<SequentialStorageKeys>("sequential_storage").get_or_insert_default().config();
                config.check(&seen).map_err(wrong)?;
                StoreSettings::SequentialStorage(config)
            }
            Which::Ekv => {
                let config = EkvConfig { random_seed: tables.of::<EkvKeys>("ekv").get_or_insert_default().random_seed };
                config.check(&seen).map_err(wrong)?;
                StoreSettings::Ekv(config)
            }
            Which::Tickv => {
                tickv::check(&seen).map_err(wrong)?;
                StoreSettings::Tickv
            }
        };
        Ok(Arc::new(Settings { store, ground }))
    }
}

impl Linked {
    /// Erase blocks that the store can have at most.
    fn blocks_max(&self) -> u32 {
        match self.0 {
            Which::SequentialStorage => u32::MAX,
            Which::Ekv => ekv::PAGES_MAX,
            Which::Tickv => tickv::REGIONS_MAX,
        }
    }
}

/// What a store stands on: the flash itself, or NOR that a translation makes of it, with its size.
#[derive(Clone, Copy, Debug)]
struct StoreGround {
    below: Option<(Translation, u64)>,
    blocks_max: u32,
}

impl StoreGround {
    /// What the keys say, for a store of at most so many erase blocks. Values that are absent are filled in.
    ///
    /// Errors: a medium that the translation does not work on, one that cannot stand below a store.
    pub fn of(
        keys: &mut Option<StoreKeys>,
        medium: &Capabilities,
        blocks_max: u32,
    ) -> Result<StoreGround, MachineError> {
        let below = keys.as_mut().map(|store| store.translation(medium)).transpose()?.flatten();
        Ok(StoreGround { below, blocks_max })
    }

    /// What the store sees of such a medium.
    pub fn seen(&self, medium: &Capabilities) -> Capabilities {
        self.below.map_or(*medium, |(_, size_bytes)| nor_capabilities(size_bytes, self.blocks_max))
    }

    /// That on the medium, made anew (`is_new`) or with what it finds there.
    ///
    /// Errors: a medium that fails.
    pub fn nor(&self, medium: &Mtd, is_new: bool) -> Result<Mtd, SystemError> {
        match self.below {
            Some((translation, _)) => {
                translation.as_nor(medium, is_new, self.blocks_max).map_err(SystemError::unusable)
            }
            None => Ok(medium.clone()),
        }
    }
}

#[derive(Debug)]
struct Settings {
    store: StoreSettings,
    ground: StoreGround,
}

#[derive(Debug)]
enum StoreSettings {
    SequentialStorage(SequentialConfig),
    Ekv(EkvConfig),
    Tickv,
}

impl StoreSettings {
    fn name(&self) -> &'static str {
        match self {
            StoreSettings::SequentialStorage(_) => SEQUENTIAL_STORAGE.name,
            StoreSettings::Ekv(_) => EKV.name,
            StoreSettings::Tickv => TICKV.name,
        }
    }

    fn store(&self, medium: &Mtd) -> Result<Box<dyn KeyValueStore>, StoreError> {
        match self {
            StoreSettings::SequentialStorage(config) => sequential::mount(medium, config),
            StoreSettings::Ekv(config) => ekv::mount(medium, config),
            StoreSettings::Tickv => tickv::mount(medium),
        }
    }
}

impl Make for Settings {
    fn mount(&self, medium: &Mtd, options: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        let no_read_only = "a store of keys and values has no read-only mounts: leave it out";
        refuse_options(self.store.name(), options, no_read_only)?;
        let store = self.store.store(&self.ground.nor(medium, false)?).map_err(SystemError::unusable)?;
        Ok(Box::new(WithoutFiles(store)))
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        let medium = &self.ground.nor(medium, true)?;
        let made = match &self.store {
            StoreSettings::SequentialStorage(config) => sequential::format(medium, config),
            StoreSettings::Ekv(config) => ekv::format(medium, config),
            StoreSettings::Tickv => tickv::format(medium),
        };
        made.map_err(SystemError::unusable)
    }

    /// Its first pages may be empty while others are not.
    fn is_new(&self, medium: &Mtd) -> bool {
        is_blank(medium)
    }
}

/// A store of a library of a user's own.
struct Loaded {
    /// Tables of `[stack]`.
    own_keys: &'static [&'static str],
    sectors_max: u32,
    /// What its keys make of it on a medium as it sees it, with values that were absent; `None`: they name no library.
    setup: fn(&mut OwnTables, &Capabilities) -> Option<Result<StoreSetup, MachineError>>,
    /// What is told then.
    none: MachineError,
}

impl OnBare for Loaded {
    fn own_keys(&self) -> &'static [&'static str] {
        self.own_keys
    }

    fn settings(&self, tables: &mut OwnTables, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError> {
        let ground = StoreGround::of(tables.of("store"), medium, self.sectors_max)?;
        let setup = (self.setup)(tables, &ground.seen(medium)).ok_or_else(|| self.none.clone())??;
        Ok(Arc::new(LoadedSettings { setup, ground }))
    }
}

#[derive(Debug)]
struct LoadedSettings {
    setup: StoreSetup,
    ground: StoreGround,
}

impl Make for LoadedSettings {
    fn mount(&self, medium: &Mtd, options: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        refuse_options(self.setup.name, options, "a store of keys and values has no read-only mounts: leave it out")?;
        let store = self.setup.mount(&self.ground.nor(medium, false)?).map_err(SystemError::unusable)?;
        Ok(Box::new(WithoutFiles(Box::new(store))))
    }

    /// New flash is an empty store.
    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        let nor = self.ground.nor(medium, true)?;
        if is_blank(&nor) {
            return Ok(());
        }
        self.setup.format(&nor).map_err(SystemError::unusable)
    }

    fn is_new(&self, medium: &Mtd) -> bool {
        is_blank(medium)
    }
}
