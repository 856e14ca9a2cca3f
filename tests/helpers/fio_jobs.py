"""Job files that ffslab and fio itself must turn into the same requests.

`EXAMPLES` are those of fio's own examples that work on files of a file system, with their sizes, run times and engines
changed to fit a small partition and a comparison: only requests that time has no part in can be the same.
"""

from __future__ import annotations

OPTIONS = {
    "seq-write": "rw=write\nbs=4k\nsize=64k",
    "seq-read": "rw=read\nbs=3k\nsize=64k",
    "seq-mixed": "rw=rw\nbs=4k\nsize=256k\nrwmixread=30",
    "rand-read": "rw=randread\nbs=4k\nsize=256k",
    "rand-write": "rw=randwrite\nbs=2k\nsize=200k",
    "rand-mixed": "rw=randrw\nbs=4k\nsize=256k\nrwmixwrite=40",
    "direction-sizes": "rw=randrw\nbs=4k,8k\nsize=256k",
    "no-map": "rw=randwrite\nbs=4k\nsize=128k\nnorandommap\nio_size=300k",
    "fsync": "rw=randwrite\nbs=4k\nsize=64k\nfsync=3\nend_fsync=1",
    "fsync-mixed": "rw=randrw\nbs=4k\nsize=64k\nfsync=4",
    "fdatasync": "rw=write\nbs=4k\nsize=64k\nfdatasync=5",
    "fsync-on-close": "rw=write\nbs=4k\nsize=32k\nnrfiles=2\nfsync_on_close=1",
    "o-sync": "rw=write\nbs=4k\nsize=32k\nsync=dsync",
    "range": "rw=randwrite\nbsrange=1k-16k\nsize=256k",
    "range-unaligned": "rw=randwrite\nbsrange=1k-5k\nbs_unaligned\nsize=256k\nnorandommap",
    "range-directions": "rw=randrw\nbsrange=1k-4k,4k-8k\nsize=256k",
    "split": "rw=randread\nbssplit=4k/60:16k/30:1k\nsize=512k",
    "split-directions": "rw=rw\nbssplit=2k/50:4k/50,4k/90:8k/10\nsize=256k",
    "by-order": "rw=randrw\nbs=4k,8k\nbs_is_seq_rand=1\npercentage_random=50\nnorandommap\nsize=256k",
    "align": "rw=randread\nbs=4k\nba=512\nsize=128k",
    "zipf": "rw=randread\nbs=4k\nsize=4m\nio_size=1m\nrandom_distribution=zipf:1.2",
    "zipf-center": "rw=randread\nbs=4k\nsize=4m\nio_size=512k\nrandom_distribution=zipf:0.8:0.3",
    "pareto": "rw=randwrite\nbs=4k\nsize=4m\nio_size=1m\nrandom_distribution=pareto:0.2",
    "normal": "rw=randwrite\nbs=4k\nsize=4m\nio_size=1m\nrandom_distribution=normal:20",
    "normal-center": "rw=randread\nbs=4k\nsize=4m\nio_size=512k\nrandom_distribution=normal:5:0.7",
    "percentage": "rw=randread\nbs=4k\nsize=512k\npercentage_random=40",
    "percentage-directions": "rw=randrw\nbs=4k\nsize=256k\npercentage_random=20,80",
    "files": "rw=randwrite\nbs=4k\nsize=256k\nnrfiles=4",
    "files-uneven": "rw=write\nbs=4k\nsize=100k\nnrfiles=3\nfile_service_type=roundrobin:2",
    "files-in-turn": "rw=read\nbs=4k\nsize=128k\nnrfiles=4\nfile_service_type=sequential",
    "files-at-random": "rw=write\nbs=4k\nsize=128k\nnrfiles=4\nfile_service_type=random:2",
    "files-sized": "rw=write\nbs=4k\nfilesize=8k-64k\nnrfiles=5",
    "loops": "rw=randread\nbs=4k\nsize=64k\nloops=3",
    "loops-seed": "rw=randwrite\nbs=4k\nsize=64k\nloops=2\nrandseed=99\nrandrepeat=0",
    "more-than-size": "rw=write\nbs=4k\nsize=64k\nio_size=160k",
    "less-than-size": "rw=randwrite\nbs=4k\nsize=64k\nio_size=20k",
    "number": "rw=randread\nbs=4k\nsize=256k\nnumber_ios=17",
    "seed": "rw=randrw\nbs=4k\nsize=128k\nrandseed=12345\nrandrepeat=0",
    "seed-ignored": "rw=randrw\nbs=4k\nsize=128k\nrandseed=12345",
    "all-repeat": "rw=randrw\nbsrange=2k-8k\nsize=128k\nallrandrepeat=1",
    "wide": "rw=randread\nbs=4k\nsize=256k\nrandom_generator=tausworthe64",
    "offset": "rw=write\nbs=4k\nsize=64k\noffset=12k",
    "increment": "rw=write\nbs=4k\nsize=32k\noffset_increment=8k\nnumjobs=3",
    "holes": "rw=read:4k\nbs=4k\nsize=128k\nio_size=64k",
    "backwards": "rw=read:-8k\nbs=4k\nsize=128k",
    "offset-runs": "rw=randread:4\nbs=4k\nsize=256k\nnorandommap",
    "identical": "rw=randwrite:3\nrw_sequencer=identical\nbs=4k\nsize=128k\nnorandommap",
    "processes": "rw=randrw\nbs=4k\nsize=64k\nnumjobs=3",
    "overwrite": "rw=write\nbs=4k\nsize=64k\noverwrite=1\nunlink=1",
    "sync-engine": "rw=randrw\nbs=4k\nsize=64k\nioengine=sync",
    "vsync-engine": "rw=write\nbs=4k\nsize=64k\nioengine=vsync",
    "odd-end": "rw=write\nbs=4k\nsize=30k",
    "thinking": "rw=write\nbs=4k\nsize=32k\nthinktime=100\nthinktime_blocks=2",
}

EXAMPLES = {
    "backwards-read": "[backwards-read]\nbs=4k\nrw=read:-8k\nfilename=1m\nsize=1m\n",
    "butterfly": "[global]\nfilename=testfile\nbs=4k\nsize=256k\n"
    "[forward]\nrw=read\n[backward]\nstonewall\nrw=read:-8k\n",
    "fio-rand-RW": "[global]\nname=fio-rand-RW\nfilename=fio-rand-RW\nrw=randrw\nrwmixread=60\nrwmixwrite=40\nbs=4K\n"
    "direct=0\n[file1]\nsize=512k\niodepth=16\n",
    "fio-rand-read": "[global]\nname=fio-rand-read\nfilename=fio-rand-read\nrw=randread\nbs=4K\ndirect=0\nnumjobs=1\n"
    "[file1]\nsize=1M\niodepth=16\n",
    "fio-rand-write": "[global]\nname=fio-rand-write\nfilename=fio-rand-write\nrw=randwrite\nbs=4K\ndirect=0\n"
    "[file1]\nsize=1M\niodepth=16\n",
    "fio-seq-RW": "[global]\nname=fio-seq-RW\nfilename=fio-seq-RW\nrw=rw\nrwmixread=60\nrwmixwrite=40\nbs=256K\n"
    "direct=0\n[file1]\nsize=4M\niodepth=16\n",
    "fio-seq-read": "[global]\nname=fio-seq-reads\nfilename=fio-seq-reads\nrw=read\nbs=256K\nnumjobs=1\n"
    "[file1]\nsize=4M\n",
    "fio-seq-write": "[global]\nname=fio-seq-write\nfilename=fio-seq-write\nrw=write\nbs=256K\n[file1]\nsize=4M\n",
    "fsx": "[file]\nioengine=psync\niodepth=1\nrw=randrw\nsize=256k\nbs=4k\nnorandommap\nloops=5\n",
    "iometer-file-access-server": "[global]\ndescription=Emulation of Intel IOmeter File Server Access Pattern\n"
    "[iometer]\nbssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10\nrw=randrw\nrwmixread=80\nsize=4m\n",
    "ssd-test": "[global]\nbs=4k\nsize=1m\nfilename=ssd.test.file\n[seq-read]\nrw=read\nstonewall\n"
    "[rand-read]\nrw=randread\nstonewall\n[seq-write]\nrw=write\nstonewall\n[rand-write]\nrw=randwrite\nstonewall\n",
    "tiobench-example": "[global]\nsize=256k\nbsrange=4k-4k\ntimeout=60\nnumjobs=4\n[f1]\nrw=write\n"
    "[f2]\nstonewall\nrw=randwrite\n[f3]\nstonewall\nrw=read\n[f4]\nstonewall\nrw=randread\n",
    "waitfor": "[global]\ngroup_reporting\nsize=128k\n[writers]\nrw=write\nbs=32k\nnumjobs=2\n"
    "[readers]\nnew_group\nwait_for=writers\nrw=randread\nbs=4k\nnumjobs=2\n"
    "[writers2]\nnew_group\nwait_for=readers\nrw=randwrite\nbs=4k\nnumjobs=2\n",
    "zipf": "[job]\nrw=randread\nnorandommap\nsize=4m\nio_size=2m\nbs=4k\nrandom_distribution=zipf:0.5\n",
}


def job_files() -> dict[str, str]:
    """Every job file by name."""
    single = {f"option-{name}": f"[j]\nioengine=psync\n{text}\n" for name, text in OPTIONS.items()}
    return single | {f"example-{name}": text for name, text in EXAMPLES.items()}


def with_logs(text: str) -> str:
    """The job file, each of its jobs writing a log named after it."""
    lines = []
    for line in text.splitlines():
        lines.append(line)
        if line.startswith("[") and not line.startswith("[global"):
            lines.append(f"write_iolog={line[1:-1]}.log")
    return "\n".join(lines) + "\n"
