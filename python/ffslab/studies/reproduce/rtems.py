"""The comparison of RTEMS's file systems: which runs its claims need, its figures.

The paper's job files are not published. So one job does one kind of access to one file of 2 MiB (4 MiB on flash),
larger than the block cache and smaller than the largest file of IMFS with its default blocks. The rest is as its
configuration file says: RAM disk of 128 MiB, block cache of 10 KiB in buffers of at most 1 KiB, RFS in blocks of 1 KiB,
ticks of 1 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ffslab.studies.reproduce.figures import Figure, Line
from ffslab.studies.reproduce.runs import PlannedRun, Row

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
FLASH = {
    "jffs2 zlib": 'fs = "jffs2"\ncompression = "zlib"',
    "jffs2": 'fs = "jffs2"\ncompression = "none"',
    "yaffs2": 'fs = "yaffs2"',
}
MEDIA = {"ram-disk-beaglebone": "RAM disk", "sd-card": "SD card", "usb-stick": "USB stick"}

Series = dict[str, list[Row]]

_STACK = """\
system = "rtems"
board = "beaglebone-black"
tick_us = 1000
"""
_PAPER = "bdbuf_cache_KiB = 10\nbdbuf_buffer_max_B = 1024\n"
_RFS = f'fs = "rfs"\nfs_block_B = 1024\n{_PAPER}'
_DOSFS = f'fs = "dosfs"\n{_PAPER}'
_SMALL_REQUESTS = """\
[[setup]]
step = "create"
file = "a"
bytes = 1024
[[setup]]
step = "open"
file = "a"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "a"
op = "read"
pattern = "sequential"
request_B = 1024
count = 1000
"""
_FILES_UNTIL_FULL = """\
[[setup]]
step = "mkdir"
dir = "d"
[[measure]]
step = "create_many"
dir = "d"
bytes = 100
until = "ENOSPC"
"""
# A file of 16 B blocks ends below 1,328 B (imfs_memfile.c).
IMFS_LIMITS_B = {16: 1_328, 32: 18_656, 64: 279_488, 128: 4_329_344}


def _experiment(series: str, stack: str, steps: str, axes: str) -> str:
    mount = '[[setup]]\nstep = "mount"\n'
    return f'title = "{series}"\n[stack]\n{_STACK}{stack}\n{mount}{steps}{f"[axes]{chr(10)}{axes}" if axes else ""}'


def _job(access: str, size_b: int, engine: str, file_mib: int) -> tuple[str, str]:
    """Name and text of a job file. JFFS2 refuses fsync, so nothing is synchronised after laying out."""
    lines = [f"rw={access}", f"bs={size_b}", f"size={file_mib}m", f"ioengine={engine}", "filename=1", "create_fsync=0"]
    return f"{access}-{size_b}-{engine}.fio", "[job]\n" + "\n".join(lines) + "\n"


def _jobs(
    series: str,
    stack: str,
    jobs: Sequence[tuple[str, int, str]],
    *,
    axes: str = "",
    file_mib: int = 2,
) -> PlannedRun:
    """A run of jobs (access, size of a request, engine), each on a new medium."""
    files = tuple(_job(*job, file_mib) for job in jobs)
    names = ", ".join(f'"{name}"' for name, _ in files)
    steps = f'[[measure]]\nstep = "fio"\nfile = "{files[0][0]}"\n'
    return PlannedRun(series, _experiment(series, stack, steps, f"{axes}fio.file = [{names}]\n"), job_files=files)


def _sweep(block_b: int, accesses: Sequence[str] = tuple(ACCESSES)) -> list[tuple[str, int, str]]:
    """Every size of request. RFS of 2018 cuts files when less than a block is written into a full last one (its crate's
    README), so random writes begin at the size of a block."""
    return [(a, size, "sync") for a in accesses for size in SIZES_B if a != "randwrite" or size >= block_b]


def _steps(series: str, stack: str, steps: str, axes: str = "") -> PlannedRun:
    return PlannedRun(series, _experiment(series, stack, steps, axes))


def planned() -> list[PlannedRun]:
    """All runs, the longest first."""
    every = [(access, MEDIA_SIZE_B, "sync") for access in ACCESSES]
    runs = [
        _jobs("F4 dosfs", _DOSFS, _sweep(512)),
        _jobs("F3 rfs", _RFS, _sweep(1024)),
        _jobs("F2 rfs", _RFS, [(a, ENGINE_SIZE_B, engine) for engine in ENGINES for a in ACCESSES]),
    ]
    blocks = f"fs_block_B = [{', '.join(map(str, IMFS_BLOCKS_B))}]\n"
    for fs in ("imfs", "mini-imfs"):
        runs.append(_jobs(f"F5 {fs}", f'fs = "{fs}"', _sweep(512, ("read", "write")), axes=blocks))
    for name, stack in FLASH.items():
        runs.append(_jobs(f"F6 {name}", f"{stack}\ndevice_KiB = 32768", every, file_mib=4))
    caches = f"bdbuf_cache_KiB = [{', '.join(map(str, CACHES_KIB))}]\n"
    for fs, stack in (("rfs", 'fs = "rfs"\nfs_block_B = 1024'), ("imfs", 'fs = "imfs"\nfs_block_B = 512')):
        runs.append(_jobs(f"F7 {fs}", f"{stack}\nbdbuf_buffer_max_B = 1024", every, axes=caches))
    for device in MEDIA:
        for fs, stack in (("rfs", _RFS.replace("1024", "512", 1)), ("dosfs", _DOSFS)):
            runs.append(_jobs(f"F8 {fs} {device}", f'device = "{device}"\n{stack}', every, file_mib=1))
    larger = "bdbuf_cache_KiB = 40\nbdbuf_buffer_max_B = 4096"
    blocks = f"fs_block_B = [{', '.join(map(str, RFS_BLOCKS_B))}]\n"
    runs.append(_jobs("blocks rfs", f'fs = "rfs"\n{larger}', every[::2], axes=blocks))
    return runs + _small() + _table_1()


def _small() -> list[PlannedRun]:
    """Small files: what a block of IMFS costs, how large files become, what blocks and clusters waste."""
    blocks = f"fs_block_B = [{', '.join(map(str, SMALL_BLOCKS_B))}]\n"
    runs = [_steps("small imfs", 'fs = "imfs"', _SMALL_REQUESTS, f'{blocks}requests.op = ["read", "write"]\n')]
    for block_b, limit_b in IMFS_LIMITS_B.items():
        steps = "".join(
            f'[[measure]]\nstep = "create"\nfile = "{name}"\nbytes = {size_b}\n{fails}'
            for name, size_b, fails in (("fits", limit_b - 1, ""), ("does_not", limit_b, 'fails = "EFBIG"\n'))
        )
        runs.append(_steps(f"limit imfs {block_b}", f'fs = "imfs"\nfs_block_B = {block_b}', steps))
    many = '[[measure]]\nstep = "create_many"\ndir = ""\ncount = 100\nbytes = 100\n'
    runs.append(_steps("waste imfs", 'fs = "imfs"', many, blocks))
    clusters = f"cluster_B = [{', '.join(map(str, CLUSTERS_B))}]\n"
    runs.append(_steps("waste dosfs", f"{_DOSFS}device_KiB = 1024", _FILES_UNTIL_FULL, clusters))
    return runs


def _table_1() -> list[PlannedRun]:
    """What table 1 says of each file system, tried: a step that does not end as it says stops the run."""

    def tried(*steps: str) -> str:
        return "".join(f"[[measure]]\n{step}\n" for step in ('step = "create"\nfile = "a"\nbytes = 5000', *steps))

    link = 'step = "link"\nfile = "a"\nto = "b"'
    rename = 'step = "rename"\nfile = "a"\nto = "c"'
    cannot = '\nfails = "ENOTSUP"'
    back = ('step = "umount"', 'step = "mount"', 'step = "stat"\nfile = "a"')
    after_a_cut = ('step = "crash"', 'step = "mount"', 'step = "stat"\nfile = "a"')
    return [
        _steps("T1 imfs", 'fs = "imfs"', tried(link, rename)),
        _steps("T1 mini-imfs", 'fs = "mini-imfs"', tried(link + cannot, rename + cannot)),
        _steps("T1 dosfs", _DOSFS, tried(link + cannot, *back, rename)),
        _steps("T1 rfs", 'fs = "rfs"\nfs_block_B = 1536\ndevice_KiB = 3072', tried(link, *back)),
        _steps("T1 jffs2", 'fs = "jffs2"\ndevice_KiB = 4096', tried(*after_a_cut)),
        _steps("T1 yaffs2", 'fs = "yaffs2"\ndevice_KiB = 4096', tried(*after_a_cut)),
    ]


# ---- what runs measured ---------------------------------------------------------------------------------------


def bandwidth(series: Series, name: str, access: str, size_b: int, engine: str = "sync", **axes: int) -> float:
    """MB/s of one job: bytes over the time of the job, its own work included, as fio reckons."""
    file = f"{access}-{size_b}-{engine}.fio"
    rows = [row for row in series[name] if row["fio.file"] == file and all(row[k] == v for k, v in axes.items())]
    (row,) = rows
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


# ---- figures ------------------------------------------------------------------------------------------------

_MB = "bandwidth, MB/s"


def figures(series: Series) -> Iterator[Figure]:
    """The paper's figures with our values. Its own values cannot be read from the text: only shapes are compared."""
    lines = [
        Line(
            text,
            range(len(ENGINES)),
            [bandwidth(series, "F2 rfs", access, ENGINE_SIZE_B, engine) for engine in ENGINES],
        )
        for access, text in ACCESSES.items()
    ]
    yield Figure("Figure 2: I/O engines, RFS", "I/O engine", _MB, lines, kinds=tuple(ENGINES))
    size = "size of a request, B"
    for title, name in (("Figure 3: size of a request, RFS", "F3 rfs"), ("Figure 4: the same, DOSFS", "F4 dosfs")):
        curves = {text: by_size(series, name, access) for access, text in ACCESSES.items()}
        yield Figure(title, size, _MB, [Line(t, list(c), list(c.values())) for t, c in curves.items()])
    for access in ("read", "write"):
        lines = []
        for fs in ("imfs", "mini-imfs"):
            for block_b in IMFS_BLOCKS_B:
                curve = by_size(series, f"F5 {fs}", access, fs_block_B=block_b)
                lines.append(Line(f"{fs}, {block_b} B", list(curve), list(curve.values())))
        yield Figure(f"Figure 5: IMFS and mini-IMFS, {ACCESSES[access]}", size, _MB, lines)
    places, kinds = range(len(ACCESSES)), tuple(ACCESSES.values())
    lines = [
        Line(name, places, [bandwidth(series, f"F6 {name}", access, MEDIA_SIZE_B) for access in ACCESSES])
        for name in FLASH
    ]
    yield Figure("Figure 6: file systems of flash, in memory", "access", _MB, lines, kinds=kinds)
    lines = [
        Line(f"{fs}, {text}", CACHES_KIB, list(by_cache(series, fs, access).values()))
        for fs in ("rfs", "imfs")
        for access, text in ACCESSES.items()
    ]
    yield Figure("Figure 7: size of the block cache", "block cache, KiB", "bandwidth over that at 10 KiB", lines)
    lines = [
        Line(f"{fs}, {text}", places, [bandwidth(series, f"F8 {fs} {device}", a, MEDIA_SIZE_B) for a in ACCESSES])
        for fs in ("rfs", "dosfs")
        for device, text in MEDIA.items()
    ]
    yield Figure("Figure 8: media, blocks of 512 B", "access", _MB, lines, kinds=kinds, y_log=True)
