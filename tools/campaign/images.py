"""Images of a random machine after a random workload: read back whole, with a flipped bit, and damaged."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from campaign import machines, operations
from campaign.case import Case, Fault, Found, Verdict, fewer, without
from campaign.commands import called, faults_of
from campaign.files import FOLDER, tree_difference
from campaign.machines import Keys
from campaign.play import Play
from ffslab import InputError, Stack
from ffslab.file_systems import TABLE
from helpers.flipped_bits import flips
from helpers.mutations import Image

IMAGE_BYTES_MAX = 3 << 20
WITH_OOB = ("jffs2", "yaffs2", "ubifs", "littlefs")
# Of these formats check sums lie over what is read, but for what an answer names; over the content of FAT and RFS none.
FLIPS, DAMAGES = 3, 3
VERBS = (("extract", "image", "target"), ("inspect", "image"), ("inspect", "image", "--deleted"))
# By which name an image knows its format, where a system has another.
FORMATS = {fs.rtems_name or fs.name: fs.name for fs in TABLE if fs.has_images}


def has_small_image(keys: Keys) -> bool:
    """Whether the machine holds files, and what it holds is an image that is read in a moment."""
    if keys["fs"] not in {*FORMATS, *FORMATS.values()} or "faults" in keys or not machines.keeps_files(keys):
        return False
    try:
        stack = Stack.of(keys)
        stack.mount()
        stack.umount()
        return len(stack.image()) <= IMAGE_BYTES_MAX
    except (ValueError, OSError):
        return False


class Images:
    """See the head of this file."""

    name = "images"
    weight = 18

    def draw(self, draw: random.Random) -> Case:
        machine = machines.drawn(draw, has_small_image)
        with_tags = machine["fs"] == "yaffs2" and not machine.get("inband_tags")
        return {
            "machine": machine,
            "seed": draw.randrange(1, 1000),
            "ops": operations.drawn(draw, draw.choice((5, 20, 60)), slots=False, cuts=False),
            "oob": with_tags or (machine["fs"] in WITH_OOB and draw.random() < 0.3),
            "flips": draw.randrange(1 << 30),
            "damages": [[draw.randrange(1 << 30), draw.randrange(len(VERBS))] for _ in range(DAMAGES)],
        }

    def run(self, case: Case, folder: Path) -> Verdict:
        counts: Counter[str] = Counter()
        try:
            image, truth = made(case)
        except InputError as error:
            return Verdict(Fault("refused", f"the machine is refused: {error}"))
        except Found as found:
            return Verdict(found.fault)
        counts["bytes"] += len(image.content)
        try:
            whole(image, truth, folder, counts)
            if case["flips"] is not None:
                flipped(image, case, folder, counts)
            for seed, verb in case["damages"]:
                damaged(image.damaged(seed), seed, verb, folder, counts)
        except Found as found:
            return Verdict(found.fault, counts)
        return Verdict(None, counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        if case["flips"] is not None:
            yield {**case, "flips": None}
        for damages in fewer(case["damages"]):
            yield {**case, "damages": damages}
        for ops in fewer(case["ops"]):
            yield {**case, "ops": ops}
        keys = [key for key in case["machine"] if key not in ("system", "fs", "quirks")]
        yield from without(case, "machine", keys)


def made(case: Case) -> tuple[Image, dict[str, bytes | None]]:
    """The image, and the files in it."""
    play = Play({**case, "initial": "settled"})
    play.all()
    if play.machine["fs"] == "yaffs2" or play.stack.is_mounted:
        play.stack.umount()
    part = play.stack.keys.get("part")
    sizes = machines.part(part) if isinstance(part, str) else {}
    fs = FORMATS.get(play.machine["fs"], play.machine["fs"])
    content = play.stack.image(oob=case["oob"] and bool(sizes.get("oob_B")))
    oob_bytes = sizes["oob_B"] if case["oob"] and sizes.get("oob_B") else 0
    return Image(fs, content, sizes.get("page_B", 2048), oob_bytes), play.files.snapshot()


def whole(image: Image, truth: dict[str, bytes | None], folder: Path, counts: Counter[str]) -> None:
    """The image as it is: what is extracted is what was written."""
    place = folder / "whole"
    place.mkdir()
    (place / "image").write_bytes(image.content)
    outcome = called(VERBS[0], place)
    counts["images"] += 1
    if wrong := faults_of(outcome) or [f"exit code {outcome['code']}"] * bool(outcome["code"]):
        raise Found("whole", f"extract: {', '.join(wrong)}: {outcome['errors'][:300]}")
    target = place / "target"
    found = {
        str(path.relative_to(target)): FOLDER if path.is_dir() else path.read_bytes() for path in target.rglob("*")
    }
    found.pop("lost+found", None)
    if found != truth:
        raise Found("whole", f"extract: {tree_difference(truth, found)}")


def flipped(image: Image, case: Case, folder: Path, counts: Counter[str]) -> None:
    """One bit is another: that is told or refused, or the answer says that the format has no sums there."""
    draw = random.Random(case["flips"])
    bits = [8 * (draw.choice(image.used) + draw.randrange(512)) + draw.randrange(8) for _ in range(FLIPS)]
    bits = [bit for bit in bits if bit < 8 * len(image.content)]
    for flip in flips(image.fs, image.content, folder / "flipped", bits):
        counts["images"] += 1
        if flip.kind == "silent":
            raise Found(
                "silent", f"bit {flip.bit} of {case['machine']['fs']} changes {flip.changed}, and nothing is said"
            )


def damaged(content: bytes, seed: int, verb: int, folder: Path, counts: Counter[str]) -> None:
    """Damaged in several places, sums mended in two of three: no traceback, no hang, nothing outside the target."""
    place = folder / f"damaged-{seed}-{verb}"
    place.mkdir()
    (place / "image").write_bytes(content)
    outcome = called(VERBS[verb], place)
    counts["images"] += 1
    wrong = faults_of(outcome)
    if beside := {path.name for path in place.iterdir()} - {"image", "target"}:
        wrong.append(f"made {sorted(beside)} beside the target")
    if wrong:
        raise Found("damaged", f"{' '.join(VERBS[verb])}, seed {seed}: {', '.join(wrong)}: {outcome['errors'][-300:]}")
