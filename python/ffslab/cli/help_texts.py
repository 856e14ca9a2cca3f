"""Every help text of the command, in one table: verb -> what it does, an example, its options."""

from __future__ import annotations

from dataclasses import dataclass, field

from ffslab.file_systems import ON_LINUX, ON_RTEMS, WITH_IMAGES, listed, title

# Images that are read.
IMAGES = listed([title(name) for name in WITH_IMAGES])

PROGRAM = "Simulate embedded flash file systems: byte-real, in virtual time."

EXIT_CODES = (
    "Exit codes: 0 done, 1 negative answer (validate --max-error, damaged images, incomplete logs, failed operations "
    "of fio and postmark), 2 bad input, 130 interrupted, 143 ended by SIGTERM."
)

JSON = "Print JSON instead of a table."

# The machine that a verb runs on.
STACK = {
    "system": "Who answers the calls: linux, rtems, or bare (a program with the file system linked into it).",
    "board": "Board profile; `ffslab profiles` lists them; of RTEMS beaglebone-black. [default: omap3evm]",
    "kernel": "Kernel profile, instead of the board's own.",
    "fs": f"File system: {listed(ON_LINUX)}; of RTEMS {listed(ON_RTEMS)}.",
    "partition_blocks": "Erase blocks of the partition. [default: 400]",
    "read_ahead": "Read-ahead window in KiB; 0 switches it off. [default: the board's kernel's]",
    "set": "Any key of an experiment's [stack] table, as device_KiB=16384; can be given several times.",
}


# The chip of logs that do not say it.
CHIP = {
    "part": "Part or board profile of the chip: geometry and endurance.",
    "chip": "Geometry of the chip: 'page_B=2048 oob_B=64 block_B=131072 size_B=268435456'.",
}


LARGE_LOGS = "Read the logs though they have more events than the limit (4,000,000)."


@dataclass(frozen=True)
class Verb:
    """Help of one verb."""

    about: str
    example: str
    options: dict[str, str] = field(default_factory=dict)

    @property
    def epilog(self) -> str:
        """What stands below the options."""
        return f"Example: {self.example}"


VERBS = {
    "run": Verb(
        about="Run an experiment: a table, a results folder, a report. See docs/experiments.md.",
        example="ffslab run experiments/first-run/sqlite.toml",
        options={
            "experiment": "Experiment files (TOML); `ffslab schema` describes them.",
            "yes": "Run it though it makes more calls than the limit (1,000,000,000, or its key calls_max).",
            "out": "Results folder [default: results/NAME]. Replaced when ffslab wrote it, refused otherwise.",
            "json": "Print the summary as JSON instead of a table.",
        },
    ),
    "replay": Verb(
        about="Replay a recorded application. docs/traces.md lists formats.",
        example="ffslab replay examples/sqlite/insert.strace.gz --read-ahead 128 --read-ahead 0",
        options={
            "trace": "Recording: strace, fio's iolog, blkparse, OpenFlash's CSV, a table; .gz is read as it is.",
            **STACK,
            "fs": "File system, as of `fio`; give it several times to compare. [default: jffs2]",
            "read_ahead": "Read-ahead window in KiB; give it several times to compare. [default: the board's kernel's]",
            "think": "keep: the application's pauses between calls are slept; none: they are left out.",
            "out": "Results folder [default: results/TRACE].",
            "json": "Print the summary as JSON instead of a table.",
        },
    ),
    "sqlite": Verb(
        about="Run SQL with the real SQLite on a simulated file system. See docs/sqlite.md.",
        example="ffslab sqlite --fs jffs2 --fs ubifs --setup make.sql < queries.sql",
        options={
            "script": "SQL whose statements are measured; without a file it is read from the standard input.",
            "setup": "SQL that is executed before, unmeasured; then all is synced and the caches are dropped.",
            **{key: text for key, text in STACK.items() if key != "kernel"},
            "fs": "File system, as of `fio`; give it several times to compare. [default: jffs2]",
            "read_ahead": "Read-ahead window in KiB; give it several times to compare. [default: the board's kernel's]",
            "database": "Name of the data base file.",
            "rows": "Print the rows that the statements return before the tables.",
            "out": "Results folder [default: results/SCRIPT].",
            "json": "Print the summary as JSON instead of tables; its steps are the statements.",
        },
    ),
    "fio": Verb(
        about="Run the jobs of a fio job file. docs/fio.md lists the options.",
        example="ffslab fio examples/fio/random-write.fio --fs ubifs",
        options={
            "jobfile": "Job file, as fio 3.33 reads it.",
            **STACK,
            "lenient": "Leave options that are not honoured out, with a warning each, instead of refusing them.",
            "out": "Results folder [default: results/JOBFILE].",
            "json": "Print JSON as fio's --output-format=json does, with an object `ffslab`.",
        },
    ),
    "postmark": Verb(
        about="Run a command file of the program postmark. See docs/postmark.md.",
        example="ffslab postmark examples/postmark/mail.pmrc --fs yaffs2",
        options={
            "commands": "Command file: lines such as `set number 500`, `run`.",
            **STACK,
            "out": "Results folder [default: results/COMMANDS].",
            "json": "Print the summary as JSON instead of the report.",
        },
    ),
    "mount": Verb(
        about="Mount a simulated file system for real programs. See docs/mount.md.",
        example="ffslab mount --fs ubifs /mnt/flash -- sqlite3 /mnt/flash/data.db '.read load.sql'",
        options={
            "mountpoint": "A folder, best an empty one: what it holds is hidden meanwhile.",
            "command": "A program to run on the mount, which ends with it. [default: until it is unmounted]",
            **{key: text for key, text in STACK.items() if key == "kernel"},
            "board": "Board profile; `ffslab profiles` lists them.",
            "fs": f"File system: {listed(ON_LINUX)}. [default: that of the image, or {ON_LINUX[0]}]",
            "part": "NAND part, instead of the board's own.",
            "blocks": "Erase blocks of the partition. [default: those of the image, or 400]",
            "set": "Any key of an experiment's [stack] table, as compression=zlib; can be given several times.",
            "image": "What the chip holds at the start: an image or a dump. [default: an erased partition]",
            "oob": "Each page of the image is followed by its OOB area. [default: as is found in it]",
            "autoplace": "Place the image's OOB areas as nandwrite --autoplace does. [default: as is found in it]",
            "option": "Options of mount(8) and of the file system, as ro,noatime; can be given several times.",
            "owner": "Who gets the root of the file system. [default: who mounts a new one; an image's stays]",
            "think": "real: time also passes while the program computes or sleeps; none: only in its calls.",
            "realtime": "Let the program wait for each call as long as it would on the board.",
            "power_cut_after": "Cut the power at this page program or erase, counted from the end of the mount.",
            "torn": "What becomes of that operation: nothing, partial (left in its middle) or complete.",
            "seed": "What chance decides, as where a torn operation stops.",
            "save": "Write what the chip holds at the end to this file, with OOB areas.",
            "no_results": "Write no results folder.",
            "out": "Results folder [default: results/mount]. Replaced when ffslab wrote it, refused otherwise.",
            "json": "Print the summary as JSON instead of a table.",
        },
    ),
    "stat": Verb(
        about="Show what a mount has done so far.",
        example="ffslab stat /mnt/flash --watch",
        options={
            "mountpoint": "Where ffslab mount mounted.",
            "watch": "Show it again and again, until Ctrl-C or the end of the mount.",
            "json": JSON,
        },
    ),
    "checkpoint": Verb(
        about="Save what the chip of a mount holds now.",
        example="ffslab checkpoint /mnt/flash nand.bin --sync",
        options={
            "mountpoint": "Where ffslab mount mounted.",
            "file": "New file for the image; ffslab mount --image, inspect and extract read it.",
            "sync": "Write what waits in memory first. Without it the image is what a power cut would leave.",
            "no_oob": "Leave the OOB areas out. Not for YAFFS2, whose tags stand there.",
        },
    ),
    "trace": Verb(
        about="Recordings and logs of flash: convert, report, compare.",
        example="ffslab trace convert app.strace.gz app.parquet",
    ),
    "trace convert": Verb(
        about="Write a recording as a table with units in its column names.",
        example="ffslab trace convert app.strace.gz app.parquet",
        options={
            "source": "Recording: strace, fio's iolog, blkparse, OpenFlash's CSV, a table; .gz is read as it is.",
            "target": "File to write, whose ending says what it becomes: .parquet or .csv.",
            "root": "Only calls below this directory. [default: the deepest one that holds all files]",
        },
    ),
    "trace report": Verb(
        about="Analyse logs of the probe kit or of Flashmon. See docs/trace-report.md.",
        example="ffslab trace report flashmon.log vfsmon.log funcmon.log --endurance 100000",
        options={
            "logs": "Logs of one session, one of each kind, or a folder that holds them; .gz is read as it is.",
            **CHIP,
            "endurance": "Erases that a block bears, for the estimated lifetime. [default: the part's]",
            "yes": LARGE_LOGS,
            "shift": "Seconds to add to the times of a kind of log (flashmon, vfsmon, funcmon), when clocks differ.",
            "out": "Results folder [default: results/trace-LOG].",
            "json": "Print the summary as JSON instead of tables.",
        },
    ),
    "trace diff": Verb(
        about="Compare the logs of two sessions: counts, rates, times, maps.",
        example="ffslab trace diff before/ after/",
        options={
            "a": "A log, or a folder with the logs of one session.",
            "b": "What it is compared with.",
            **CHIP,
            "yes": LARGE_LOGS,
            "out": "Results folder [default: results/diff-A-B].",
            "json": "Print the differences as JSON instead of tables.",
        },
    ),
    "validate": Verb(
        about="Compare simulations with measured cases.",
        example="ffslab validate cases.jsonl.gz --only '*/R1/*' --max-error 2",
        options={
            "cases": "Measured cases, one JSON object per line, or a list of RTEMS runs; .gz is read as it is.",
            "only": "Only cases whose id matches this pattern (* ? [a-c]; * also matches /).",
            "jobs": "Simulations that run at once. [default: one per core]",
            "max_error": "Exit with 1 when a counter or mean latency of any case is further off than this.",
            "json": JSON,
        },
    ),
    "reference": Verb(
        about="Measure experiments on a real Linux kernel in QEMU. See docs/reference.md.",
        example="ffslab reference run experiments/reference/jffs2-reads.toml",
    ),
    "reference run": Verb(
        about="Run experiments on a real kernel in QEMU; compare the simulation.",
        example="ffslab reference run experiments/reference/jffs2-reads.toml",
        options={
            "experiment": "Experiment files (TOML) with JFFS2 or UBIFS; docs/reference.md says which steps there are.",
            "arch": "The machine; others than amd64 need `ffslab reference fetch` once.",
            "kernel": "A kernel of your own (bzImage, zImage); give --modules, too. [default: the newest in /boot]",
            "modules": "Its folder of modules, which holds modules.dep.",
            "probe": "The on-target kit. [default: probe/ of ffslab's sources]",
            "jobs": "Machines that run at once, one for each experiment file. [default: one per core]",
            "out": "Folder for cases.jsonl and traces [default: results/reference-NAME, or results/reference].",
            "json": JSON,
        },
    ),
    "reference fetch": Verb(
        about="Fetch Debian's kernel and busybox for another architecture; nothing is installed.",
        example="ffslab reference fetch --arch armhf",
        options={
            "arch": "The architecture, by Debian's name.",
            "suite": "Release of Debian: bullseye has Linux 5.10, bookworm 6.1, trixie 6.12.",
            "out": "Folder to fill [default: ~/.cache/ffslab/reference/ARCH, where `reference run` looks].",
        },
    ),
    "reproduce": Verb(
        about="Do a published study again: claims and figures beside ours. See docs/reproduce.md.",
        example="ffslab reproduce readahead",
        options={
            "paper": "Study: readahead (EWiLi 2014), driver, wear-gc (CSE 2012), rtems (EWiLi 2018).",
            "jobs": "Simulations that run at once. [default: one per core]",
            "out": "Results folder [default: results/reproduce-PAPER]. Runs that it holds are not made again.",
            "json": JSON,
        },
    ),
    "calibrate": Verb(
        about="Make a board profile from measurements. See docs/calibrating-your-board.md.",
        example="ffslab calibrate --loops loops.csv --power capture.csv --out results/my-board",
        options={
            "loops": "Log of driver-level loops: a CSV file with the columns operation, n, time_us, power_cpu_mW ...",
            "power": "Power capture of the same loops: a CSV file with the columns time_s, cpu_W, memory_W.",
            "probe": "Logs of the probe kit, flashmon and funcmon: a folder, or each file by itself.",
            "traces": "Folder of SQLite traces of the board, as docs/compare.md describes; may be given several times.",
            "record_bytes": "Take only the traces with records of this size; may be given several times.",
            "base": "Profile that stands for what was not measured: a built-in board, or your own file.",
            "part": "NAND part of the board: a built-in name, or the path of a file. [default: that of the base]",
            "title": "What the board is called.",
            "method": "linear; robust (outliers count less); non-negative (no constant below 0).",
            "yes": LARGE_LOGS,
            "out": "Results folder [default: results/calibrate-NAME].",
            "json": JSON,
        },
    ),
    "inspect": Verb(
        about="Look into a flash image: files, space, wear, damage, costs. See docs/inspect.md.",
        example="ffslab inspect dump.bin --report dump.html",
        options={
            "image": f"Image of {IMAGES}, or a dump of raw flash with or without OOB areas.",
            "fs": f"What it is: {', '.join(WITH_IMAGES)}, or auto (what it looks like).",
            "block_KiB": "Size of the erase blocks. [default: guessed from the content, as the next three]",
            "page_B": "Size of a page.",
            "oob_B": "Size of the OOB area behind each page; 0: there is none in the image.",
            "endian": "Byte order of JFFS2: little, big, or auto (that of the first node).",
            "mtdparts": "Partitions of the chip that the image is a dump of, as on the kernel's command line: "
            "'nand:512k(boot)ro,8M(root),-(data)'. [default: found by what is in it, as the next two]",
            "offset": "Where in the flash the only partition begins, without OOB areas: 0x100000, 1M, 512k.",
            "size": "How large the only partition is. [default: to the end]",
            "partition": "Which of several partitions.",
            "board": "Board on which mount and reads are simulated; `ffslab profiles` lists them.",
            "part": "NAND part, instead of the board's own; sizes are those of the image.",
            "kernel": "Kernel profile, instead of the board's own.",
            "device": "Block device that holds a FAT or RFS volume: sd-card, usb-stick or ram-disk-beaglebone.",
            "extract": "Extract the files into this new or empty folder, too.",
            "report": "Write a report with pictures, one HTML file.",
            "json": "Print everything as JSON.",
        },
    ),
    "lifetime": Verb(
        about="Predict how long a part bears a workload. See docs/inspect.md.",
        example="ffslab lifetime dump.bin --workload EXPERIMENT.toml --per-day 1000",
        options={
            "start": "An image or dump, with which the workloads begin, or a results folder of `ffslab run`.",
            "workload": "Experiment whose measured steps are the workload; give it several times to compare.",
            "per_day": "How often a day the measured steps happen. [default: one after the other, without a pause]",
            "endurance": "Erases that a block bears. [default: the part's]",
            "json": "Print everything as JSON, with the erases a day of each block.",
        },
    ),
    "compare": Verb(
        about="Replay SQLite traces of a board and compare with them. See docs/compare.md.",
        example="ffslab compare board/select --board omap3evm",
        options={
            "traces": "Folder with vfs/, and ffs/, flash/ if there are, of files such as 128_run1.csv or .csv.gz.",
            "board": "Board profile: a built-in name, or the path of a file. It needs a table [tracers].",
            "kernel": "Kernel profile [default: the board's].",
            "partition_blocks": "Erase blocks of the partition.",
            "record_bytes": "Take only the traces with records of this size; may be given several times.",
            "uptime": "How long the machine has been up: JFFS2 chooses blocks by the clock's ticks.",
            "json": JSON,
        },
    ),
    "extract": Verb(
        about="List or extract the files of a flash image. See docs/images.md.",
        example="ffslab extract rootfs.jffs2 files",
        options={
            "image": f"Image of {IMAGES}: of mkfs.jffs2, mkyaffs2image, ubinize, nanddump.",
            "folder": "New or empty folder for the files; without one they are listed.",
            "fs": f"File system of the image: {', '.join(WITH_IMAGES)}, or auto (what it looks like).",
            "block_KiB": "Size of the erase blocks. [default: found in the image, as the next four]",
            "oob": "Each page is followed by its OOB area (nanddump --oob).",
            "page_B": "Size of a page.",
            "oob_B": "Size of an OOB area.",
            "endian": "Byte order: little, big, or auto (that of the first node). JFFS2 only.",
            "json": "Print the list as JSON.",
        },
    ),
    "profiles": Verb(
        about="List chips, boards, kernels; show where numbers are from.",
        example="ffslab profiles show omap3evm",
    ),
    "profiles list": Verb(
        about="List the built-in parts, boards and kernels.",
        example="ffslab profiles list --json",
        options={"json": JSON},
    ),
    "profiles show": Verb(
        about="Show a profile: every value with its unit, source and status.",
        example="ffslab profiles show omap3evm",
        options={"name": "Name of a built-in profile, or the path of a profile file.", "json": JSON},
    ),
    "schema": Verb(
        about="Print the JSON Schema of experiment files, or of a result.",
        example="ffslab schema > experiment.schema.json",
        options={
            "name": "What it is of: experiment, summary, variant, inspection, partitions, validation, plan, stack, "
            "totals, activity, image, lifetime, trace_report, comparison.",
        },
    ),
}
