"""The comparison of RTEMS's file systems: which runs its claims need, its figures.

The paper's job files are not published. So one job does one kind of access to one file of 2 MiB (4 MiB on flash),
larger than the block cache and smaller than the largest file of IMFS with its default blocks. The rest is as its
configuration file says: RAM disk of 128 MiB, block cache of 10 KiB in buffers of at most 1 KiB, RFS in blocks of 1 KiB,
ticks of 1 ms.
"""

from __future__ import annotations

from collections.abc import Sequence

from ffslab import steps
from ffslab.api.steps import MOUNT, Data, opened
from ffslab.steps import Step
from ffslab.studies.reproduce.rows import Row, chosen_of
from ffslab.studies.reproduce.runs import PlannedRun

ACCESSES = {"read": "read", "randread": "random read", "write": "write", "randwrite": "random write"}
ENGINES = ("sync", "psync", "vsync")
SIZES_B = (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
# Figure 2 and the media: one size each.
ENGINE_SIZE_B, MEDIA_SIZE_B = 1024, 4096
IMFS_BLOCKS_B = (128, 256, 512)
SMALL_BLOCKS_B = (16, 32, 64, 128, 256, 512)
RFS_BLOCKS_B = (512, 1024, 2048, 4096)
CLUSTERS_B = (512, 1024, 2048, 4096)
CACHES_KIB = (10, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096)
FLASH: dict[str, Data] = {
    "jffs2 zlib": {"fs": "jffs2", "compression": "zlib"},
    "jffs2": {"fs": "jffs2", "compression": "none"},
    "yaffs2": {"fs": "yaffs2"},
}
MEDIA = {"ram-disk-beaglebone": "RAM disk", "sd-card": "SD card", "usb-stick": "USB stick"}

Series = dict[str, list[Row]]

_BOARD: Data = {"system": "rtems", "board": "beaglebone-black", "tick_us": 1000}
_PAPER: Data = {"bdbuf_cache_KiB": 10, "bdbuf_buffer_max_B": 1024}
_RFS: Data = {"fs": "rfs", "fs_block_B": 1024, **_PAPER}
_DOSFS: Data = {"fs": "dosfs", **_PAPER}
# A file of 16 B blocks ends below 1,328 B (imfs_memfile.c).
IMFS_LIMITS_B = {16: 1_328, 32: 18_656, 64: 279_488, 128: 4_329_344}


def _experiment(
    series: str, stack: Data, measure: Sequence[Step], axes: Data | None, setup: Sequence[Step] = ()
) -> Data:
    return {
        "title": series,
        "stack": _BOARD | stack,
        "setup": [MOUNT, *setup],
        "measure": measure,
        "axes": axes,
    }


def _job(access: str, size_b: int, engine: str, file_mib: int) -> tuple[str, str]:
    """Name and text of a job file. JFFS2 refuses fsync, so nothing is synchronised after laying out."""
    keys = [f"rw={access}", f"bs={size_b}", f"size={file_mib}m", f"ioengine={engine}", "filename=1", "create_fsync=0"]
    return f"{access}-{size_b}-{engine}.fio", "".join(f"{line}\n" for line in ["[job]", *keys])


def _jobs(
    series: str,
    stack: Data,
    jobs: Sequence[tuple[str, int, str]],
    *,
    axes: Data | None = None,
    file_mib: int = 2,
) -> PlannedRun:
    """A run of jobs (access, size of a request, engine), each on a new medium."""
    files = tuple(_job(*job, file_mib) for job in jobs)
    names = [name for name, _ in files]
    of_files = {**(axes or {}), "fio.file": names}
    return PlannedRun(series, _experiment(series, stack, [steps.fio(file=names[0])], of_files), job_files=files)


def _sweep(block_b: int, accesses: Sequence[str] = tuple(ACCESSES)) -> list[tuple[str, int, str]]:
    """Every size of request. RFS of 2018 cuts files when less than a block is written into a full last one (its crate's
    README), so random writes begin at the size of a block."""
    return [(a, size, "sync") for a in accesses for size in SIZES_B if a != "randwrite" or size >= block_b]


def _steps(
    series: str, stack: Data, measure: Sequence[Step], axes: Data | None = None, setup: Sequence[Step] = ()
) -> PlannedRun:
    return PlannedRun(series, _experiment(series, stack, measure, axes, setup))


def planned() -> list[PlannedRun]:
    """All runs, the longest first."""
    every = [(access, MEDIA_SIZE_B, "sync") for access in ACCESSES]
    runs = [
        _jobs("F4 dosfs", _DOSFS, _sweep(512)),
        _jobs("F3 rfs", _RFS, _sweep(1024)),
        _jobs("F2 rfs", _RFS, [(a, ENGINE_SIZE_B, engine) for engine in ENGINES for a in ACCESSES]),
    ]
    blocks: Data = {"fs_block_B": IMFS_BLOCKS_B}
    for fs in ("imfs", "mini-imfs"):
        runs.append(_jobs(f"F5 {fs}", {"fs": fs}, _sweep(512, ("read", "write")), axes=blocks))
    for name, stack in FLASH.items():
        runs.append(_jobs(f"F6 {name}", {**stack, "device_KiB": 32768}, every, file_mib=4))
    caches: Data = {"bdbuf_cache_KiB": CACHES_KIB}
    for fs, block_b in (("rfs", 1024), ("imfs", 512)):
        keys: Data = {"fs": fs, "fs_block_B": block_b, "bdbuf_buffer_max_B": 1024}
        runs.append(_jobs(f"F7 {fs}", keys, every, axes=caches))
    for device in MEDIA:
        for fs, keys in (("rfs", {**_RFS, "fs_block_B": 512}), ("dosfs", _DOSFS)):
            runs.append(_jobs(f"F8 {fs} {device}", {"device": device, **keys}, every, file_mib=1))
    larger: Data = {"fs": "rfs", "bdbuf_cache_KiB": 40, "bdbuf_buffer_max_B": 4096}
    runs.append(_jobs("blocks rfs", larger, every[::2], axes={"fs_block_B": RFS_BLOCKS_B}))
    return runs + _small() + _table_1()


def _small() -> list[PlannedRun]:
    """Small files: what a block of IMFS costs, how large files become, what blocks and clusters waste."""
    blocks: Data = {"fs_block_B": SMALL_BLOCKS_B}
    requests = steps.requests(file="a", op="read", pattern="sequential", request_B=1024, count=1000)
    small_file = [steps.create(file="a", bytes=1024), opened("a", "rdwr")]
    axes: Data = {**blocks, "requests.op": ["read", "write"]}
    runs = [_steps("small imfs", {"fs": "imfs"}, [requests], axes, small_file)]
    for block_b, limit_b in IMFS_LIMITS_B.items():
        sizes = [
            steps.create(file="fits", bytes=limit_b - 1),
            steps.create(file="does_not", bytes=limit_b, fails="EFBIG"),
        ]
        runs.append(_steps(f"limit imfs {block_b}", {"fs": "imfs", "fs_block_B": block_b}, sizes))
    many = steps.create_many(dir="", count=100, bytes=100)
    runs.append(_steps("waste imfs", {"fs": "imfs"}, [many], blocks))
    until_full = steps.create_many(dir="d", bytes=100, until="ENOSPC")
    small_disk = {**_DOSFS, "device_KiB": 1024}
    runs.append(_steps("waste dosfs", small_disk, [until_full], {"cluster_B": CLUSTERS_B}, [steps.mkdir(dir="d")]))
    return runs


def _table_1() -> list[PlannedRun]:
    """What table 1 says of each file system, tried: a step that does not end as it says stops the run."""

    def tried(name: str, stack: Data, *then: Step) -> PlannedRun:
        return _steps(f"T1 {name}", {"fs": name, **stack}, [steps.create(file="a", bytes=5000), *then])

    link = steps.link(file="a", to="b")
    rename = steps.rename(file="a", to="c")
    cannot = {"fails": "ENOTSUP"}
    found = steps.stat(file="a")
    back = (steps.umount(), MOUNT, found)
    after_a_cut = (steps.crash(), MOUNT, found)
    return [
        tried("imfs", {}, link, rename),
        tried("mini-imfs", {}, link | cannot, rename | cannot),
        tried("dosfs", _DOSFS, link | cannot, *back, rename),
        tried("rfs", {"fs_block_B": 1536, "device_KiB": 3072}, link, *back),
        tried("jffs2", {"device_KiB": 4096}, *after_a_cut),
        tried("yaffs2", {"device_KiB": 4096}, *after_a_cut),
    ]


# ---- what runs measured ---------------------------------------------------------------------------------------


def bandwidth(series: Series, name: str, access: str, size_b: int, engine: str = "sync", **axes: int) -> float:
    """MB/s of one job: bytes over the time of the job, its own work included, as fio reckons."""
    file = f"{access}-{size_b}-{engine}.fio"
    (row,) = chosen_of(series[name], {"fio.file": file, **axes})
    return float((row["read_B"] + row["written_B"]) / row["steps"][0]["us"])


def by_size(series: Series, name: str, access: str, **axes: int) -> dict[int, float]:
    """Bandwidth by size of a request."""
    names = {row["fio.file"] for row in series[name]}
    sizes = [size for size in SIZES_B if f"{access}-{size}-sync.fio" in names]
    return {size: bandwidth(series, name, access, size, "sync", **axes) for size in sizes}


def by_cache(series: Series, fs: str, access: str) -> dict[int, float]:
    """Bandwidth by size of the block cache in KiB, over that at the smallest (figure 7)."""
    values = {kib: bandwidth(series, f"F7 {fs}", access, MEDIA_SIZE_B, bdbuf_cache_KiB=kib) for kib in CACHES_KIB}
    return {kib: value / values[CACHES_KIB[0]] for kib, value in values.items()}
