"""The comparison of RTEMS's file systems: what is read off the runs, claim by claim.

C1 to C20 are the single statements of the paper; RT-1 to RT-7 put those of a figure together.
"""

from __future__ import annotations

from itertools import pairwise

from ffslab.studies.reproduce.claims import SLACK_POINTS, Claims, Judged, Verdict
from ffslab.studies.reproduce.rows import Row
from ffslab.studies.reproduce.rtems import (
    ACCESSES,
    CACHES_KIB,
    CLUSTERS_B,
    ENGINE_SIZE_B,
    FLASH,
    IMFS_BLOCKS_B,
    IMFS_LIMITS_B,
    MEDIA,
    MEDIA_SIZE_B,
    RFS_BLOCKS_B,
    SMALL_BLOCKS_B,
    Series,
    bandwidth,
    by_cache,
    by_size,
)

SLACK = SLACK_POINTS / 100
# The statements of each figure.
OF_FIGURES = {
    "RT-1": ("C1",),
    "RT-2": ("C2", "C3", "C4", "C5"),
    "RT-3": ("C6", "C7"),
    "RT-4": ("C8", "C9", "C10", "C11"),
    "RT-5": ("C12", "C13"),
    "RT-6": ("C15", "C16"),
    "RT-7": ("C17", "C18"),
}
# A write of 4 KiB to the SD card of profiles/block-devices: 50 + 30 + 1,093 us and the transfer.
SD_WRITE_US = 50 + 30 + 1_093 + MEDIA_SIZE_B * 50.3e-3


def judge(claims: Claims, series: Series) -> None:
    """Puts our readings beside every claim."""
    _judge_engines(claims, series)
    _judge_sizes(claims, series)
    _judge_imfs(claims, series)
    _judge_flash(claims, series)
    _judge_caches(claims, series)
    _judge_media(claims, series)
    _judge_blocks(claims, series)
    _judge_table_1(claims["T1"], series)
    for figure, statements in OF_FIGURES.items():
        for statement in statements:
            judged = claims[statement]
            what = f"{statement}: {judged.title}"
            claims[figure].shape(what, "holds", judged.verdict.value, judged.verdict is Verdict.REPRODUCED)


def _list(values: list[float], digits: int = 1) -> str:
    return ", ".join(f"{value:,.{digits}f}" for value in values)


def _rises(values: list[float]) -> bool:
    """Whether values rise from each to the next, and altogether by more than the slack."""
    return all(b > a * (1 - SLACK) for a, b in pairwise(values)) and values[-1] > values[0] * (1 + SLACK)


def _judge_engines(claims: Claims, series: Series) -> None:
    for access, text in ACCESSES.items():
        sync, psync, vsync = (
            bandwidth(series, "F2 rfs", access, ENGINE_SIZE_B, engine) for engine in ("sync", "psync", "vsync")
        )
        ours = f"sync {sync:.1f}, psync {psync:.1f}, vsync {vsync:.1f} MB/s"
        claims["C1"].shape(f"{text}, 1 KiB", "sync the fastest", ours, sync > max(psync, vsync))
    claims["C1"].evidence.append(
        "pread and pwrite are three lseeks and a transfer (newlib); each lseek of RFS takes its lock."
    )
    factor = claims["C2"].value("alike_factor")
    for read, write in (("read", "write"), ("randread", "randwrite")):
        a, b = (bandwidth(series, "F2 rfs", access, ENGINE_SIZE_B) for access in (read, write))
        ratio = max(a, b) / min(a, b)
        claims["C2"].shape(
            f"{ACCESSES[read]} and {ACCESSES[write]}, 1 KiB", "similar", f"{a:.1f}, {b:.1f} MB/s", ratio <= factor
        )
    at = {a: by_size(series, "F3 rfs", a)[65536] for a in ("read", "write")}
    claims["C2"].evidence.append(
        f"With requests of 64 KiB writing is faster, {at['write']:.0f} against {at['read']:.0f} MB/s: "
        "a line that is read from memory is waited for, one that is written is not."
    )


def _judge_sizes(claims: Claims, series: Series) -> None:
    sequential, random = by_size(series, "F3 rfs", "read"), by_size(series, "F3 rfs", "randread")
    ratios = [sequential[size] / random[size] for size in sequential]
    claims["C3"].shape(
        "sequential over random reads, 128 B to 64 KiB", "more than 1", _list(ratios, 2), min(ratios) > 1
    )
    misses = [
        row["counters"]["dev_read_requests"]
        for access in ("read", "randread")
        for row in series["F3 rfs"]
        if row["fio.file"] == f"{access}-1024-sync.fio"
    ]
    claims["C3"].evidence.append(f"Reads of the device at 1 KiB: {misses[0]:,} sequential, {misses[1]:,} random.")
    for access, text in ACCESSES.items():
        gains = [b / a - 1 for a, b in pairwise(by_size(series, "F3 rfs", access).values())]
        percent = ", ".join(f"{gain * 100:.0f}" for gain in gains) + " %"
        if access != "randwrite":
            claims["C4"].shape(f"{text}, gain of the first doublings", "steep", percent, min(gains[:3]) > 0.5)
        holds = gains[-1] < gains[0] / 2 and all(b <= a + SLACK for a, b in pairwise(gains))
        claims["C5"].shape(f"{text}, gain of each doubling", "shrinks", percent, holds)
    for access, text in ACCESSES.items():
        dosfs, rfs = by_size(series, "F4 dosfs", access), by_size(series, "F3 rfs", access)
        curve = list(dosfs.values())
        claims["C6"].shape(f"{text}, 128 B to 64 KiB", "rises", f"{_list(curve)} MB/s", _rises(curve))
        last = curve[-1] / curve[-2] - 1
        claims["C6"].shape(f"{text}, gain of the last doubling", "no plateau", f"{last * 100:.1f} %", last > SLACK)
        over = [dosfs[size] / rfs[size] for size in dosfs if size in rfs]
        claims["C7"].shape(f"{text}, DOSFS over RFS", "less than 1", _list(over, 2), max(over) < 1)


def _judge_imfs(claims: Claims, series: Series) -> None:
    for access in ("read", "write"):
        text = ACCESSES[access]
        curves = {b: by_size(series, "F5 imfs", access, fs_block_B=b) for b in IMFS_BLOCKS_B}
        minis = {b: by_size(series, "F5 mini-imfs", access, fs_block_B=b) for b in IMFS_BLOCKS_B}
        off = max(abs(minis[b][size] / curves[b][size] - 1) for b in curves for size in curves[b])
        claims["C8"].shape(
            f"{text}, mini-IMFS against IMFS", "the same", f"{off * 100:.1f} % apart at most", off <= SLACK
        )
        for b, curve in curves.items():
            values = list(curve.values())
            claims["C9"].shape(f"{text}, {b} B blocks", "rises", f"{_list(values)} MB/s", _rises(values))
        columns = [[curves[b][size] for b in IMFS_BLOCKS_B] for size in curves[IMFS_BLOCKS_B[0]]]
        most = [column[-1] / column[0] for column in columns]
        claims["C10"].shape(
            f"{text}, 512 B over 128 B blocks",
            "more than 1",
            _list(most, 2),
            all(b > a for c in columns for a, b in pairwise(c)),
        )
    for op, doublings in _small_doublings(series).items():
        ours = _list(doublings, 2)
        claims["C10"].shape(
            f"{op}, doubling blocks of 16 and 32 B", "2, nearly", ours, _linear(claims["C10"], doublings)
        )
    tried = [limit for block, limit in IMFS_LIMITS_B.items() if series[f"limit imfs {block}"]]
    largest = ", ".join(f"{limit - 1:,}" for limit in tried)
    claims["C11"].shape(
        "largest file, 16 to 128 B blocks, B", "grows", largest, tried == sorted(set(tried)) and len(tried) == 4
    )
    wasted = [
        row["counters"]["imfs_memfile_blocks"] * row["fs_block_B"] / _files(row) - 100 for row in series["waste imfs"]
    ]
    holds = wasted == sorted(wasted) and wasted[-1] > wasted[0]
    claims["C11"].shape(
        "memory beyond the bytes of a 100 B file, 16 to 512 B blocks, B", "grows", _list(wasted, 0), holds
    )


def _files(row: Row) -> int:
    """Files that the first step made."""
    made = row["files"][0]
    assert made is not None
    return made


def _small_doublings(series: Series) -> dict[str, list[float]]:
    """By how much each doubling of the smallest blocks speeds up requests of 1 KiB within the CPU's caches."""
    speeds: dict[str, dict[int, float]] = {}
    for row in series["small imfs"]:
        speeds.setdefault(row["requests.op"], {})[row["fs_block_B"]] = 1024 / row["latency_mean_us"]
    return {op: [by[b] / by[a] for a, b in pairwise(SMALL_BLOCKS_B[:3])] for op, by in speeds.items()}


def _linear(claim: Judged, doublings: list[float]) -> bool:
    low, high = claim.values("linear_factors")
    return all(low <= doubling <= high for doubling in doublings)


def _judge_flash(claims: Claims, series: Series) -> None:
    of = {name: {a: bandwidth(series, f"F6 {name}", a, MEDIA_SIZE_B) for a in ACCESSES} for name in FLASH}
    for access, text in ACCESSES.items():
        yaffs2, packed = of["yaffs2"][access], of["jffs2 zlib"][access]
        claims["C12"].shape(
            text, "YAFFS2 faster", f"YAFFS2 {yaffs2:.1f}, JFFS2 with zlib {packed:.1f} MB/s", yaffs2 > packed
        )
    gains = {a: of["jffs2"][a] / of["jffs2 zlib"][a] - 1 for a in ACCESSES}
    for access in ("write", "randwrite"):
        gain = gains[access]
        claims["C13"].shape(f"{ACCESSES[access]}, gain without zlib", "clear", f"{gain * 100:.0f} %", gain > 0.1)
    for access, write in (("read", "write"), ("randread", "randwrite")):
        gain = gains[access]
        holds = SLACK < gain < gains[write]
        claims["C13"].shape(f"{ACCESSES[access]}, gain without zlib", "modest", f"{gain * 100:.1f} %", holds)
    order = of["yaffs2"]["write"] > of["jffs2"]["write"] > of["jffs2 zlib"]["write"]
    values = ", ".join(f"{name} {by['write']:.1f}" for name, by in of.items())
    claims["C12"].shape("write: YAFFS2, JFFS2, JFFS2 with zlib", "falls", f"{values} MB/s", order)
    packed_us, plain_us = (MEDIA_SIZE_B / of[name]["write"] for name in ("jffs2 zlib", "jffs2"))
    there = (packed_us + SD_WRITE_US) / (plain_us + SD_WRITE_US)
    ours = f"{packed_us / plain_us:.1f} in memory, {there:.2f} there"
    holds = there <= claims["C14"].value("alike_factor")
    claims["C14"].shape(
        "time with zlib over time without, 4 KiB written to a medium as slow as an SD card", "hidden", ours, holds
    )
    claims["C14"].evidence.append("Computed from the times in memory and the card's time of a write, not run.")


def _judge_caches(claims: Claims, series: Series) -> None:
    for access, text in ACCESSES.items():
        imfs, rfs = by_cache(series, "imfs", access), by_cache(series, "rfs", access)
        off = max(abs(value - 1) for value in imfs.values())
        claims["C15"].shape(f"IMFS, {text}", "flat", f"{off * 100:.1f} % off at most", off <= SLACK)
        lowest = min(rfs, key=lambda kib: rfs[kib])
        last = rfs[CACHES_KIB[-1]]
        ours = f"{rfs[lowest]:.2f} at {lowest:,} KiB, {last:.2f} at {CACHES_KIB[-1]:,}"
        drops = rfs[lowest] < 1 - SLACK and CACHES_KIB[0] < lowest < CACHES_KIB[-1]
        claims["C16"].shape(
            f"RFS, {text}, 10 KiB is 1", "drops, then rises", ours, drops and last > rfs[lowest] + SLACK
        )
    misses = [
        (row["bdbuf_cache_KiB"], row["counters"].get("dev_read_requests", 0))
        for row in series["F7 rfs"]
        if row["fio.file"] == f"randread-{MEDIA_SIZE_B}-sync.fio"
    ]
    counted = ", ".join(f"{count:,} at {kib:,}" for kib, count in misses)
    claims["C16"].evidence.append(f"Reads of the device by size of the cache in KiB, random reads: {counted}.")


def _judge_media(claims: Claims, series: Series) -> None:
    ram, *others = MEDIA
    ratios: dict[str, dict[str, float]] = {}
    for access, text in ACCESSES.items():
        by_fs = {
            fs: {device: bandwidth(series, f"F8 {fs} {device}", access, MEDIA_SIZE_B) for device in MEDIA}
            for fs in ("rfs", "dosfs")
        }
        for fs, by_device in by_fs.items():
            ours = ", ".join(f"{name} {by_device[device]:.2f}" for device, name in MEDIA.items()) + " MB/s"
            far = by_device[ram] > claims["C17"].value("far_factor") * max(by_device[device] for device in others)
            claims["C17"].shape(f"{fs}, {text}", "RAM disk far ahead", ours, far)
        ratios[text] = {device: by_fs["rfs"][device] / by_fs["dosfs"][device] for device in MEDIA}
    spread = max(max(by.values()) - min(by.values()) for by in ratios.values())
    ours = "; ".join(f"{text} {_list(list(by.values()), 2)}" for text, by in ratios.items())
    claims["C18"].shape("RFS over DOSFS on RAM disk, SD card, USB stick", "not to be transferred", ours, spread > SLACK)


def _judge_blocks(claims: Claims, series: Series) -> None:
    for op, doublings in _small_doublings(series).items():
        ours = _list(doublings, 2)
        claims["C19"].shape(
            f"IMFS, {op}, doubling blocks of 16 and 32 B", "2, nearly", ours, _linear(claims["C19"], doublings)
        )
    for access in ("read", "write"):
        values = [bandwidth(series, "blocks rfs", access, MEDIA_SIZE_B, fs_block_B=b) for b in RFS_BLOCKS_B]
        claims["C19"].shape(f"RFS, {access}, blocks of 512 to 4096 B", "rises", f"{_list(values)} MB/s", _rises(values))
    files = [_files(row) for row in series["waste dosfs"]]
    holds = all(b < a for a, b in pairwise(files)) and len(files) == len(CLUSTERS_B)
    ours = _list([float(count) for count in files], 0)
    claims["C20"].shape("DOSFS, files of 100 B on 1 MiB, clusters of 512 to 4096 B", "fewer", ours, holds)


def _judge_table_1(claim: Judged, series: Series) -> None:
    """Each step of these runs ends as it says there, or there would be no row."""
    tried = {
        "imfs": ("RAM, POSIX features", "link and rename work"),
        "mini-imfs": ("RAM, reduced", "link and rename are refused (ENOTSUP)"),
        "dosfs": (
            "block, compatible",
            "link is refused, a rename after a remount works",
        ),
        "rfs": ("block, non-power of 2", "blocks of 1,536 B: a file is there after a remount"),
        "jffs2": ("log structured", "a file that was closed is there after a power cut without fsync"),
        "yaffs2": ("log structured", "a file that was closed is there after a power cut without fsync"),
    }
    for fs, (published, ours) in tried.items():
        claim.shape(fs, published, ours, len(series[f"T1 {fs}"]) == 1)
