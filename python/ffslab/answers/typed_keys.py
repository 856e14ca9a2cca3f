"""What mypy knows of the keys of a machine and of `Stack.step`. Made by tools/native_steps.py from `ffslab schema`."""

# long file: it is made, and a list of all steps.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict, overload

Advice: TypeAlias = Literal["normal", "random", "sequential", "willneed", "dontneed", "noreuse"]
AppendSync: TypeAlias = Literal["fsync", "fdatasync", "none", "sync"]
BasePattern: TypeAlias = Literal["SR", "RR", "SW", "RW"]
BlockDeviceName: TypeAlias = Literal["ubiblock", "mtdblock"]
CompressionName: TypeAlias = Literal["none", "zlib", "rtime", "lzo", "zstd", "zlib-rtime", "priority", "size"]
ContentName: TypeAlias = Literal["random", "text", "mix", "zero"]
Distribution: TypeAlias = Literal["uniform", "hot_cold", "sequential", "zipf"]
EccName: TypeAlias = Literal["hw", "sw", "bch", "on-die"]
EndianName: TypeAlias = Literal["little", "big"]
Failure: TypeAlias = Literal[
    "ENOENT",
    "EEXIST",
    "ENOTDIR",
    "EISDIR",
    "ENOTEMPTY",
    "ENOSPC",
    "EROFS",
    "ENXIO",
    "EFBIG",
    "EINVAL",
    "ENAMETOOLONG",
    "EPERM",
    "EACCES",
    "ENOTSUP",
    "ENODATA",
    "ERANGE",
    "E2BIG",
]
FallocateFlag: TypeAlias = Literal["keep_size", "punch_hole", "zero_range", "collapse_range", "insert_range"]
KeyFile: TypeAlias = Literal["renamed", "overwritten"]
MapAccess: TypeAlias = Literal["read", "write"]
Msync: TypeAlias = Literal["none", "each", "end"]
MtdOp: TypeAlias = Literal["read", "program", "erase"]
NandWaitName: TypeAlias = Literal["busy", "resched", "sleep"]
OpenFlag: TypeAlias = Literal["rdonly", "wronly", "rdwr", "create", "truncate", "append", "sync", "direct", "tmpfile"]
Pattern: TypeAlias = Literal["sequential", "random", "listed"]
RenameFlag: TypeAlias = Literal["noreplace", "exchange", "whiteout"]
RequestCalls: TypeAlias = Literal["pread", "read"]
RequestOp: TypeAlias = Literal["read", "write", "alternate"]
Runs: TypeAlias = Literal["linux", "u-boot", "spl"]
ShareOf: TypeAlias = Literal["erase_blocks", "df"]
Think: TypeAlias = Literal["keep", "none", "arrivals"]
Until: TypeAlias = Literal["ENOSPC"]
XattrFlag: TypeAlias = Literal["create", "replace"]
Yaffs2Version: TypeAlias = Literal["2010", "2011", "2012", "today"]


def said_step(name: str, /, **keys: object) -> dict[str, object]:
    """A step with the keys that are said. A key that is a word of Python has an underscore behind it there."""
    said = {key.rstrip("_"): value for key, value in keys.items() if value is not None}
    return {"step": name, **said}


class OtherKeys(TypedDict, total=False):
    """Keys of machines that only some have."""

    ageing: Mapping[str, object] | None
    application_priority: int | None
    bad_block_table: bool | None
    bdbuf_buffer_max_B: int | None
    bdbuf_buffer_min_B: int | None
    bdbuf_cache_KiB: int | None
    bdbuf_read_ahead_blocks: int | None
    bdbuf_write_blocks: int | None
    beb_reserve_pct: int | None
    bitflip_threshold_bits: int | None
    block_device: BlockDeviceName | None
    bulk_read: bool | None
    chip: dict[str, object] | None
    chip_blocks: int | None
    clock_read_ns: int | None
    cluster_B: int | None
    compression: CompressionName | None
    device: str | Mapping[str, object] | None
    device_KiB: int | None
    dirty_KiB: int | None
    dirty_background_KiB: int | None
    ecc: EccName | None
    ecc_strength_bits: int | None
    ekv: Mapping[str, object] | None
    endian: EndianName | None
    erase_block_KiB: int | None
    fastmap: bool | None
    fat: Mapping[str, object] | None
    fatfs: Mapping[str, object] | None
    faults: Mapping[str, object] | None
    first_block: int | None
    flashdb: Mapping[str, object] | None
    fm_autoconvert: bool | None
    fs_block_B: int | None
    hz: int | None
    image: str | None
    image_autoplace: bool | None
    image_mtdparts: str | None
    image_offset_B: int | None
    image_oob: bool | None
    image_partition: str | None
    image_size_B: int | None
    inband_tags: bool | None
    kernel: str | None
    littlefs: Mapping[str, object] | None
    max_beb_per1024: int | None
    media_block_B: int | None
    medium: str | None
    memory_KiB: int | None
    mount: Sequence[dict[str, object]] | None
    nand_wait: NandWaitName | None
    page_cache_KiB: int | None
    part: str | None
    policy: Mapping[str, object] | None
    quirks: str | None
    read_ahead_KiB: int | None
    sequential_storage: Mapping[str, object] | None
    slc_mode: bool | None
    smp: bool | None
    spiffs: Mapping[str, object] | None
    store: Mapping[str, object] | None
    subpage_writes: bool | None
    summary: bool | None
    swapout_hold_ms: int | None
    swapout_period_ms: int | None
    swapout_priority: int | None
    swapout_workers: int | None
    tick_us: int | None
    traced: bool | None
    ubifs_debug: bool | None
    uptime_us: float | None
    vid_hdr_offset_B: int | None
    vm: Mapping[str, object] | None
    wall_clock_us: float | None
    wl_threshold: int | None
    word_bits: int | None
    yaffs2: Mapping[str, object] | None
    yaffs2_version: Yaffs2Version | None
    zephyr_fcb: Mapping[str, object] | None
    zephyr_nvs: Mapping[str, object] | None
    zephyr_zms: Mapping[str, object] | None


class MachineKeys(OtherKeys, total=False):
    """The `[stack]` table of an experiment."""

    system: str | None
    board: str | None
    fs: str | None
    partition_blocks: int | None


class StepCalls:
    """`step` of a stack, with the keys of each step."""

    @overload
    def step(self, step: Literal["mount"], /, *, options: Sequence[str] | None = None) -> None: ...

    @overload
    def step(self, step: Literal["umount"], /) -> None: ...

    @overload
    def step(self, step: Literal["ubi_attach"], /) -> None: ...

    @overload
    def step(self, step: Literal["ubi_detach"], /) -> None: ...

    @overload
    def step(self, step: Literal["ubi_make_volume"], /) -> None: ...

    @overload
    def step(self, step: Literal["crash"], /) -> None: ...

    @overload
    def step(self, step: Literal["boot"], /, *, options: Sequence[str] | None = None) -> None: ...

    @overload
    def step(self, step: Literal["format"], /) -> None: ...

    @overload
    def step(
        self,
        step: Literal["create"],
        /,
        *,
        file: str,
        bytes: int | str,
        content: ContentName | None = None,
        content_file: str | None = None,
        fails: Failure | None = None,
        request_B: int | str | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["fill"],
        /,
        *,
        file: str,
        content: ContentName | None = None,
        content_file: str | None = None,
        request_B: int | str | None = None,
    ) -> None: ...

    @overload
    def step(
        self, step: Literal["create_fragmented"], /, *, file: str, bytes: int | str, seed: int | None = None
    ) -> None: ...

    @overload
    def step(
        self, step: Literal["saturate"], /, *, file: str | None = None, request_B: int | str | None = None
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["occupy"],
        /,
        *,
        file: str,
        percent: float,
        of: ShareOf | None = None,
        request_B: int | str | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["age"],
        /,
        *,
        file: str,
        overwrites: float,
        distribution: Distribution | None = None,
        fsync_every: int | None = None,
        hot_percent: float | None = None,
        hot_writes_percent: float | None = None,
        request_B: int | str | None = None,
        seed: int | None = None,
        zipf_theta: float | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["unlink"], /, *, file: str) -> None: ...

    @overload
    def step(
        self,
        step: Literal["rename"],
        /,
        *,
        file: str,
        to: str,
        fails: Failure | None = None,
        flags: Sequence[RenameFlag] | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["link"], /, *, file: str, to: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(
        self,
        step: Literal["truncate"],
        /,
        *,
        file: str,
        bytes: int | str,
        by_descriptor: bool | None = None,
        fails: Failure | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["sync"], /) -> None: ...

    @overload
    def step(self, step: Literal["sync_directories"], /) -> None: ...

    @overload
    def step(self, step: Literal["drop_caches"], /) -> None: ...

    @overload
    def step(self, step: Literal["sleep"], /, *, us: int | str) -> None: ...

    @overload
    def step(self, step: Literal["shelf"], /, *, days: float, temperature_C: float | None = None) -> None: ...

    @overload
    def step(self, step: Literal["scrub"], /) -> None: ...

    @overload
    def step(
        self, step: Literal["open"], /, *, file: str, flags: Sequence[OpenFlag], fails: Failure | None = None
    ) -> None: ...

    @overload
    def step(self, step: Literal["close"], /, *, file: str) -> None: ...

    @overload
    def step(self, step: Literal["fsync"], /, *, file: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(self, step: Literal["stat"], /, *, file: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(self, step: Literal["fadvise"], /, *, file: str, advice: Advice) -> None: ...

    @overload
    def step(
        self, step: Literal["trim"], /, *, file: str, bytes: int | str, offset: int | str | None = None
    ) -> None: ...

    @overload
    def step(self, step: Literal["read_ahead"], /, *, KiB: int) -> None: ...

    @overload
    def step(
        self,
        step: Literal["requests"],
        /,
        *,
        file: str,
        count: int,
        op: RequestOp,
        pattern: Pattern,
        request_B: int | str,
        calls: RequestCalls | None = None,
        content: ContentName | None = None,
        content_file: str | None = None,
        gap_us: int | str | None = None,
        order: Sequence[int] | None = None,
        range_B: int | str | None = None,
        seed: int | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["mmap"],
        /,
        *,
        file: str,
        access: MapAccess,
        count: int,
        pattern: Pattern,
        request_B: int | str,
        bytes: int | str | None = None,
        content: ContentName | None = None,
        content_file: str | None = None,
        fails: Failure | None = None,
        gap_us: int | str | None = None,
        msync: Msync | None = None,
        offset_B: int | str | None = None,
        order: Sequence[int] | None = None,
        seed: int | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["uflip"],
        /,
        *,
        file: str,
        pattern: BasePattern,
        burst: int | None = None,
        incr: int | None = None,
        io_count: int | None = None,
        io_ignore: int | None = None,
        io_shift_B: int | str | None = None,
        io_size_B: int | str | None = None,
        mix_with: BasePattern | None = None,
        parallel_degree: int | None = None,
        partitions: int | None = None,
        pause_us: int | str | None = None,
        ratio: int | None = None,
        seed: int | None = None,
        target_offset_B: int | str | None = None,
        target_size_B: int | str | None = None,
        total_B: int | str | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["append"],
        /,
        *,
        file: str,
        count: int,
        request_B: int | str,
        content: ContentName | None = None,
        content_file: str | None = None,
        gap_us: int | str | None = None,
        sync: AppendSync | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["mkdir"], /, *, dir: str) -> None: ...

    @overload
    def step(self, step: Literal["rmdir"], /, *, dir: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(self, step: Literal["readdir"], /, *, dir: str) -> None: ...

    @overload
    def step(
        self,
        step: Literal["create_many"],
        /,
        *,
        dir: str,
        bytes: int | str,
        content: ContentName | None = None,
        content_file: str | None = None,
        count: int | None = None,
        fsync: bool | None = None,
        name: str | None = None,
        request_B: int | str | None = None,
        until: Until | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["stat_many"], /, *, dir: str, count: int, name: str | None = None) -> None: ...

    @overload
    def step(
        self,
        step: Literal["read_many"],
        /,
        *,
        dir: str,
        bytes: int | str,
        count: int,
        name: str | None = None,
        request_B: int | str | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["unlink_many"], /, *, dir: str, count: int, name: str | None = None) -> None: ...

    @overload
    def step(
        self,
        step: Literal["set"],
        /,
        *,
        bytes: int | str,
        keys: int,
        content: ContentName | None = None,
        content_file: str | None = None,
        count: int | None = None,
        files: KeyFile | None = None,
        gap_us: int | str | None = None,
        name: str | None = None,
        order: Sequence[int] | None = None,
        pattern: Pattern | None = None,
        seed: int | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["get"],
        /,
        *,
        keys: int,
        count: int | None = None,
        gap_us: int | str | None = None,
        name: str | None = None,
        order: Sequence[int] | None = None,
        pattern: Pattern | None = None,
        seed: int | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["delete"],
        /,
        *,
        keys: int,
        count: int | None = None,
        gap_us: int | str | None = None,
        name: str | None = None,
        order: Sequence[int] | None = None,
        pattern: Pattern | None = None,
        seed: int | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["iterate"], /) -> None: ...

    @overload
    def step(
        self,
        step: Literal["setxattr"],
        /,
        *,
        file: str,
        name: str,
        bytes: int | str | None = None,
        fails: Failure | None = None,
        flag: XattrFlag | None = None,
        value: str | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["getxattr"], /, *, file: str, name: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(self, step: Literal["listxattr"], /, *, file: str) -> None: ...

    @overload
    def step(self, step: Literal["removexattr"], /, *, file: str, name: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(self, step: Literal["symlink"], /, *, file: str, target: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(self, step: Literal["readlink"], /, *, file: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(self, step: Literal["chmod"], /, *, file: str, permissions: str, fails: Failure | None = None) -> None: ...

    @overload
    def step(
        self,
        step: Literal["chown"],
        /,
        *,
        file: str,
        fails: Failure | None = None,
        gid: int | None = None,
        uid: int | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["utimens"],
        /,
        *,
        file: str,
        accessed_s: int | None = None,
        fails: Failure | None = None,
        modified_s: int | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["statfs"], /) -> None: ...

    @overload
    def step(
        self, step: Literal["ftruncate"], /, *, file: str, bytes: int | str, fails: Failure | None = None
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["fallocate"],
        /,
        *,
        file: str,
        bytes: int | str,
        fails: Failure | None = None,
        flags: Sequence[FallocateFlag] | None = None,
        offset: int | str | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["replay"],
        /,
        *,
        file: str,
        content: ContentName | None = None,
        only: str | None = None,
        onto: str | None = None,
        random_percent: int | None = None,
        root: str | None = None,
        speed: float | None = None,
        think: Think | None = None,
    ) -> None: ...

    @overload
    def step(self, step: Literal["fio"], /, *, file: str, lenient: bool | None = None) -> None: ...

    @overload
    def step(
        self, step: Literal["postmark"], /, *, file: str, commands: str | None = None, drop_caches: bool | None = None
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["sqlite"],
        /,
        *,
        file: str,
        count: int | None = None,
        pragmas: Sequence[str] | None = None,
        script: str | None = None,
        seed: int | None = None,
        sql: str | None = None,
    ) -> None: ...

    @overload
    def step(
        self, step: Literal["copy_in"], /, *, from_: str, dir: str | None = None, request_B: int | str | None = None
    ) -> None: ...

    @overload
    def step(self, step: Literal["save_image"], /, *, file: str, oob: bool | None = None) -> None: ...

    @overload
    def step(self, step: Literal["mtd_loop"], /, *, count: int, op: MtdOp, first: int | None = None) -> None: ...

    @overload
    def step(
        self,
        step: Literal["load"],
        /,
        *,
        image: str,
        autoplace: bool | None = None,
        mtdparts: str | None = None,
        offset_B: int | None = None,
        oob: bool | None = None,
        partition: str | None = None,
        size_B: int | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        step: Literal["repeat"],
        /,
        *,
        at: str | None = None,
        rounds_max: int | None = None,
        steps: Sequence[Mapping[str, object]] | None = None,
        times: int | None = None,
        until: str | None = None,
    ) -> None: ...

    @overload
    def step(
        self, step: Literal["unlink_oldest"], /, *, dir: str, count: int | None = None, name: str | None = None
    ) -> None: ...

    @overload
    def step(
        self, step: Literal["stage"], /, *, name: str, fastmap: bool | None = None, runs: Runs | None = None
    ) -> None: ...

    @overload
    def step(self, step: Literal["read_raw"], /, *, bytes: int | str, first_block: int) -> None: ...

    @overload
    def step(self, step: Literal["ubi_read"], /, *, volume: str, bytes: int | str | None = None) -> None: ...

    @overload
    def step(
        self, step: Literal["read_files"], /, *, files: Sequence[str], request_B: int | str | None = None
    ) -> None: ...

    def step(self, step: str, /, **keys: object) -> None:
        """Runs a step of the experiments' vocabulary: `stack.step("fill", file="x")`.

        Files that it opens or expects to be open are the steps' own, beside those of `open`.
        """
        self._run_step(said_step(step, **keys))

    def _run_step(self, step: dict[str, object]) -> None:
        raise NotImplementedError
