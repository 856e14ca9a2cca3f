"""Made by tools/native_types.py from `ffslab schema stack`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from ffslab.answers import Json


class AgeingKeys(TypedDict):
    """How the chip ages: raw bit errors by wear, time and reads, and blocks that fail."""

    activation_eV: NotRequired[float | None]
    disturb_exponent: NotRequired[float | None]
    disturb_rate: NotRequired[float | None]
    ecc_required_bits: NotRequired[int | None]
    endurance_erases: NotRequired[int | None]
    failed_share: NotRequired[float | None]
    frame_shape: NotRequired[float | None]
    life_shape: NotRequired[float | None]
    new_wear_share: NotRequired[float | None]
    pe_cycles: int
    program_failure_share: NotRequired[float | None]
    rated_C: NotRequired[float | None]
    read_retry_modes: int
    reads: NotRequired[float | None]
    retention_rate: NotRequired[float | None]
    retention_time_exponent: NotRequired[float | None]
    retention_wear_exponent: NotRequired[float | None]
    retention_years: NotRequired[float | None]
    retry_share: NotRequired[float | None]
    seed: int
    temperature_C: NotRequired[float | None]
    write_exponent: NotRequired[float | None]
    write_rate: NotRequired[float | None]


class BareKeys(TypedDict):
    """A program with its file system on a board's chip, without an operating system."""

    board: str
    chip_blocks: NotRequired[int | None]
    clock_read_ns: NotRequired[int | None]
    device: NotRequired[DeviceKeys | None]
    device_KiB: NotRequired[int | None]
    ecc: NotRequired[EccName | None]
    ekv: NotRequired[EkvKeys | None]
    erase_block_KiB: NotRequired[int | None]
    fat: NotRequired[FatKeys | None]
    fatfs: NotRequired[FatfsKeys | None]
    first_block: int
    flashdb: NotRequired[FlashdbKeys | None]
    fs: str
    inband_tags: bool
    littlefs: NotRequired[LittlefsKeys | None]
    media_block_B: NotRequired[int | None]
    part: NotRequired[str | None]
    partition_blocks: int
    policy: NotRequired[PolicyKeys | None]
    sequential_storage: NotRequired[SequentialStorageKeys | None]
    spiffs: NotRequired[SpiffsKeys | None]
    store: NotRequired[StoreKeys | None]
    system: BareName
    yaffs2_version: NotRequired[Yaffs2Version | None]
    zephyr_fcb: NotRequired[ZephyrFcbKeys | None]
    zephyr_nvs: NotRequired[ZephyrKeys | None]
    zephyr_zms: NotRequired[ZephyrKeys | None]


BareName: TypeAlias = Literal["bare"]


BlockDeviceName: TypeAlias = Literal["ubiblock", "mtdblock"]


CompressionName: TypeAlias = Literal["none", "zlib", "rtime", "lzo", "zstd", "zlib-rtime", "priority", "size"]


DeviceKeys: TypeAlias = "str | FtlKeys"


EccName: TypeAlias = Literal["hw", "sw", "bch", "on-die"]


class EkvKeys(TypedDict):
    """What ekv can be told at run time, as in `[stack.ekv]`; its sizes are set when it is compiled."""

    random_seed: NotRequired[int | None]


EndianName: TypeAlias = Literal["little", "big"]


class FatKeys(TypedDict):
    """What FAT is made and mounted with, as in `[stack.fat]` (`docs/fat.md`)."""

    cache_sectors: NotRequired[int | None]
    clock: NotRequired[bool | None]
    cluster_size_B: NotRequired[int | None]
    dhara_library: NotRequired[str | None]
    fat_type: NotRequired[FatTypeName | None]
    gc_ratio: NotRequired[int | None]
    root_entries: NotRequired[int | None]
    sector_size_B: NotRequired[int | None]
    spare: NotRequired[float | None]
    tables: NotRequired[int | None]
    translation: NotRequired[TranslationName | None]
    update_accessed_date: NotRequired[bool | None]
    update_rate: NotRequired[int | None]


FatTypeName: TypeAlias = Literal["FAT12", "FAT16", "FAT32"]


class FatfsKeys(TypedDict):
    """What FatFs is built, formatted and mounted with, as in `[stack.fatfs]` (`docs/fatfs.md`)."""

    cluster_size_B: NotRequired[int | None]
    dhara_library: NotRequired[str | None]
    gc_ratio: NotRequired[int | None]
    library: str
    open_files: NotRequired[int | None]
    root_entries: NotRequired[int | None]
    sector_size_B: NotRequired[int | None]
    spare: NotRequired[float | None]
    tables: NotRequired[int | None]
    translation: NotRequired[TranslationName | None]
    update_rate: NotRequired[int | None]


class FaultKeys(TypedDict):
    """Faults of the chip by the names of Linux's nandsim, whose module parameters they are."""

    badblocks: NotRequired[list[int]]
    bitflips: NotRequired[int]
    gravepages: NotRequired[list[str]]
    seed: NotRequired[int]
    weakblocks: NotRequired[list[str]]
    weakpages: NotRequired[list[str]]


class FlashdbKeys(TypedDict):
    """What FlashDB is built and mounted with, as in `[stack.flashdb]` (`docs/key-value.md`); the granularity of ..."""

    library: str
    sector_size_B: NotRequired[int | None]


class FtlKeys(TypedDict):
    """Flash behind a translation layer."""

    blocks: NotRequired[int | None]
    board: NotRequired[str | None]
    buffer: NotRequired[str | None]
    buffer_pages: NotRequired[int | None]
    cache_commands: NotRequired[bool | None]
    cell_bits: NotRequired[int | None]
    channels: NotRequired[int | None]
    checkpoint_every_pages: NotRequired[int | None]
    copy_back: NotRequired[int | None]
    copy_row_pages: NotRequired[int | None]
    dies: NotRequired[int | None]
    faults: NotRequired[FaultKeys | None]
    ftl: str
    gc_apart: NotRequired[bool | None]
    gc_free_blocks: NotRequired[int | None]
    idle_free_blocks: NotRequired[int | None]
    interface: NotRequired[str | None]
    log_blocks: NotRequired[int | None]
    map_cache_entries: NotRequired[int | None]
    part: str
    planes: NotRequired[int | None]
    random_log_pages: NotRequired[int | None]
    random_segments: NotRequired[int | None]
    sequential_request_pages: NotRequired[int | None]
    several_bits_program_further_us: NotRequired[float | None]
    several_bits_read_further_us: NotRequired[float | None]
    slc_cache_blocks: NotRequired[int | None]
    slc_mode: NotRequired[bool]
    spare: NotRequired[float | None]


class LittlefsKeys(TypedDict):
    """The configuration of littlefs (`struct lfs_config`), as in `[stack.littlefs]`."""

    block_cycles: NotRequired[int | None]
    block_size_B: NotRequired[int | None]
    cache_size_B: NotRequired[int | None]
    compact_thresh_B: NotRequired[int | None]
    disk_version: NotRequired[str | None]
    inline_max_B: NotRequired[int | None]
    library: NotRequired[str | None]
    lookahead_size_B: NotRequired[int | None]
    metadata_max_B: NotRequired[int | None]
    name_max_B: NotRequired[int | None]
    prog_size_B: NotRequired[int | None]
    read_size_B: NotRequired[int | None]


NandWaitName: TypeAlias = Literal["busy", "resched", "sleep"]


class PolicyKeys(TypedDict):
    """Rules that stand in for the kernel's own; `ffslab policy ls` lists them."""

    free: NotRequired[str | None]
    levelling: NotRequired[str | None]
    map_eviction: NotRequired[str | None]
    read_ahead: NotRequired[str | None]
    seed: NotRequired[int]
    stream: NotRequired[str | None]
    victim: NotRequired[str | None]
    write_back: NotRequired[str | None]


class RtemsKeys(TypedDict):
    """RTEMS with one file system."""

    application_priority: NotRequired[int | None]
    bdbuf_buffer_max_B: NotRequired[int | None]
    bdbuf_buffer_min_B: NotRequired[int | None]
    bdbuf_cache_KiB: NotRequired[int | None]
    bdbuf_read_ahead_blocks: NotRequired[int | None]
    bdbuf_write_blocks: NotRequired[int | None]
    board: str
    cluster_B: NotRequired[int | None]
    compression: NotRequired[CompressionName | None]
    device: NotRequired[DeviceKeys | None]
    device_KiB: NotRequired[int | None]
    erase_block_KiB: NotRequired[int | None]
    fs: str
    fs_block_B: NotRequired[int | None]
    image: NotRequired[str | None]
    media_block_B: NotRequired[int | None]
    policy: NotRequired[PolicyKeys | None]
    quirks: NotRequired[str | None]
    swapout_hold_ms: NotRequired[int | None]
    swapout_period_ms: NotRequired[int | None]
    swapout_priority: NotRequired[int | None]
    swapout_workers: NotRequired[int | None]
    system: SystemName
    tick_us: NotRequired[int | None]


SequentialCacheName: TypeAlias = Literal["none", "page-states", "page-pointers", "key-pointers"]


class SequentialStorageKeys(TypedDict):
    """The configuration of the map of sequential-storage, as in `[stack.sequential_storage]`; the flash range is..."""

    buffer_B: NotRequired[int | None]
    cache: NotRequired[SequentialCacheName | None]
    cache_keys: NotRequired[int | None]
    word_B: NotRequired[int | None]


class SpiffsKeys(TypedDict):
    """What SPIFFS is built and mounted with, as in `[stack.spiffs]` (`docs/spiffs.md`)."""

    cache_pages: NotRequired[int | None]
    library: str
    log_block_size_B: NotRequired[int | None]
    log_page_size_B: NotRequired[int | None]
    open_files: NotRequired[int | None]


class StackKeys(TypedDict):
    """The machine and its file system."""

    ageing: NotRequired[AgeingKeys | None]
    bad_block_table: NotRequired[bool | None]
    beb_reserve_pct: NotRequired[int | None]
    bitflip_threshold_bits: NotRequired[int | None]
    block_device: NotRequired[BlockDeviceName | None]
    board: str
    bulk_read: NotRequired[bool]
    chip: NotRequired[dict[str, Json] | None]
    chip_blocks: NotRequired[int | None]
    clock_read_ns: NotRequired[int | None]
    compression: NotRequired[CompressionName | None]
    dirty_KiB: NotRequired[int | None]
    dirty_background_KiB: NotRequired[int | None]
    ecc: NotRequired[EccName | None]
    ecc_strength_bits: NotRequired[int | None]
    endian: NotRequired[EndianName]
    erase_block_KiB: NotRequired[int | None]
    fastmap: NotRequired[bool]
    faults: NotRequired[FaultKeys | None]
    first_block: int
    fm_autoconvert: NotRequired[bool]
    fs: str
    hz: NotRequired[int | None]
    image: NotRequired[str | None]
    image_autoplace: NotRequired[bool | None]
    image_mtdparts: NotRequired[str | None]
    image_offset_B: NotRequired[int | None]
    image_oob: NotRequired[bool | None]
    image_partition: NotRequired[str | None]
    image_size_B: NotRequired[int | None]
    inband_tags: NotRequired[bool]
    kernel: NotRequired[str | None]
    max_beb_per1024: NotRequired[int | None]
    medium: NotRequired[str | None]
    memory_KiB: NotRequired[int | None]
    mount: NotRequired[list[dict[str, Json]]]
    nand_wait: NotRequired[NandWaitName | None]
    page_cache_KiB: NotRequired[int | None]
    part: NotRequired[str | None]
    partition_blocks: int
    policy: NotRequired[PolicyKeys | None]
    read_ahead_KiB: NotRequired[int | None]
    slc_mode: NotRequired[bool]
    smp: NotRequired[bool | None]
    subpage_writes: NotRequired[bool | None]
    summary: bool
    traced: NotRequired[bool]
    ubifs_debug: NotRequired[bool]
    uptime_us: NotRequired[float | None]
    vid_hdr_offset_B: NotRequired[int | None]
    vm: NotRequired[VmKeys | None]
    wall_clock_us: NotRequired[float | None]
    wl_threshold: NotRequired[int | None]
    word_bits: NotRequired[int | None]
    yaffs2: NotRequired[Yaffs2Keys | None]
    yaffs2_version: NotRequired[Yaffs2Version | None]


class StackTable(TypedDict):
    """The `[stack]` table: of Linux, with `system = "rtems"` of RTEMS, with `system = "bare"` of a program witho..."""

    ageing: NotRequired[AgeingKeys | None]
    bad_block_table: NotRequired[bool | None]
    beb_reserve_pct: NotRequired[int | None]
    bitflip_threshold_bits: NotRequired[int | None]
    block_device: NotRequired[BlockDeviceName | None]
    board: str
    bulk_read: NotRequired[bool]
    chip: NotRequired[dict[str, Json] | None]
    chip_blocks: NotRequired[int | None]
    clock_read_ns: NotRequired[int | None]
    compression: NotRequired[CompressionName | None]
    dirty_KiB: NotRequired[int | None]
    dirty_background_KiB: NotRequired[int | None]
    ecc: NotRequired[EccName | None]
    ecc_strength_bits: NotRequired[int | None]
    endian: NotRequired[EndianName]
    erase_block_KiB: NotRequired[int | None]
    fastmap: NotRequired[bool]
    faults: NotRequired[FaultKeys | None]
    first_block: NotRequired[int]
    fm_autoconvert: NotRequired[bool]
    fs: str
    hz: NotRequired[int | None]
    image: NotRequired[str | None]
    image_autoplace: NotRequired[bool | None]
    image_mtdparts: NotRequired[str | None]
    image_offset_B: NotRequired[int | None]
    image_oob: NotRequired[bool | None]
    image_partition: NotRequired[str | None]
    image_size_B: NotRequired[int | None]
    inband_tags: NotRequired[bool]
    kernel: NotRequired[str | None]
    max_beb_per1024: NotRequired[int | None]
    medium: NotRequired[str | None]
    memory_KiB: NotRequired[int | None]
    mount: NotRequired[list[dict[str, Json]]]
    nand_wait: NotRequired[NandWaitName | None]
    page_cache_KiB: NotRequired[int | None]
    part: NotRequired[str | None]
    partition_blocks: NotRequired[int]
    policy: NotRequired[PolicyKeys | None]
    read_ahead_KiB: NotRequired[int | None]
    slc_mode: NotRequired[bool]
    smp: NotRequired[bool | None]
    subpage_writes: NotRequired[bool | None]
    summary: NotRequired[bool]
    traced: NotRequired[bool]
    ubifs_debug: NotRequired[bool]
    uptime_us: NotRequired[float | None]
    vid_hdr_offset_B: NotRequired[int | None]
    vm: NotRequired[VmKeys | None]
    wall_clock_us: NotRequired[float | None]
    wl_threshold: NotRequired[int | None]
    word_bits: NotRequired[int | None]
    yaffs2: NotRequired[Yaffs2Keys | None]
    yaffs2_version: NotRequired[Yaffs2Version | None]
    application_priority: NotRequired[int | None]
    bdbuf_buffer_max_B: NotRequired[int | None]
    bdbuf_buffer_min_B: NotRequired[int | None]
    bdbuf_cache_KiB: NotRequired[int | None]
    bdbuf_read_ahead_blocks: NotRequired[int | None]
    bdbuf_write_blocks: NotRequired[int | None]
    cluster_B: NotRequired[int | None]
    device: NotRequired[DeviceKeys | None]
    device_KiB: NotRequired[int | None]
    fs_block_B: NotRequired[int | None]
    media_block_B: NotRequired[int | None]
    quirks: NotRequired[str | None]
    swapout_hold_ms: NotRequired[int | None]
    swapout_period_ms: NotRequired[int | None]
    swapout_priority: NotRequired[int | None]
    swapout_workers: NotRequired[int | None]
    system: NotRequired[SystemName | BareName]
    tick_us: NotRequired[int | None]
    ekv: NotRequired[EkvKeys | None]
    fat: NotRequired[FatKeys | None]
    fatfs: NotRequired[FatfsKeys | None]
    flashdb: NotRequired[FlashdbKeys | None]
    littlefs: NotRequired[LittlefsKeys | None]
    sequential_storage: NotRequired[SequentialStorageKeys | None]
    spiffs: NotRequired[SpiffsKeys | None]
    store: NotRequired[StoreKeys | None]
    zephyr_fcb: NotRequired[ZephyrFcbKeys | None]
    zephyr_nvs: NotRequired[ZephyrKeys | None]
    zephyr_zms: NotRequired[ZephyrKeys | None]


class StoreKeys(TypedDict):
    """What a store of keys and values stands on, as in `[stack.store]` (`docs/key-value.md`)."""

    spare: NotRequired[float | None]
    translation: NotRequired[TranslationName | None]


SystemName: TypeAlias = Literal["rtems"]


TranslationName: TypeAlias = Literal["none", "wear-levelling", "dhara", "page-map"]


class VmKeys(TypedDict):
    """Settings of write-back."""

    dirty_B: NotRequired[int | None]
    dirty_background_B: NotRequired[int | None]
    dirty_background_ratio_pct: NotRequired[int | None]
    dirty_expire_ms: NotRequired[int | None]
    dirty_ratio_pct: NotRequired[int | None]
    dirty_writeback_ms: NotRequired[int | None]


WhenFull: TypeAlias = Literal["stop", "rotate", "compress"]


class Yaffs2Keys(TypedDict):
    """Settings of YAFFS2 that most leave as its sources have them."""

    background_gc: NotRequired[bool | None]
    block_summaries: NotRequired[bool | None]
    cache_bypass_aligned: NotRequired[bool | None]
    deferred_dir_update: NotRequired[bool | None]
    inband_tags: NotRequired[bool | None]
    pointer_bits: NotRequired[int | None]
    refresh_period: NotRequired[int | None]
    reserved_blocks: NotRequired[int | None]
    short_op_caches: NotRequired[int | None]
    tags_ecc: NotRequired[bool | None]


Yaffs2Version: TypeAlias = Literal["2010", "2011", "2012", "today"]


class ZephyrFcbKeys(TypedDict):
    """What Zephyr's FCB is built and mounted with, as in `[stack.zephyr_fcb]` (`docs/key-value.md`)."""

    library: str
    sector_size_B: NotRequired[int | None]
    when_full: NotRequired[WhenFull | None]
    write_block_B: NotRequired[int | None]


class ZephyrKeys(TypedDict):
    """What a store of Zephyr whose keys are numbers is built and mounted with, as in `[stack.zephyr_nvs]` and `[..."""

    library: str
    names: NotRequired[str | None]
    sector_size_B: NotRequired[int | None]
    write_block_B: NotRequired[int | None]
