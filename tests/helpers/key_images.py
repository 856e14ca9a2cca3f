"""What tests of images of stores of keys and values do alike."""

from __future__ import annotations

from pathlib import Path

from ffslab.images import read_image
from ffslab.images.inspection import inspect_image
from helpers.dumps import saved
from helpers.zephyr_nvs import ZephyrNvs
from helpers.zephyr_zms import ZephyrZms


def files(path: Path, **given: object) -> dict[str, bytes]:
    """Values by key, of an image in which nothing is wrong."""
    tree = read_image(path, **given)  # type: ignore[arg-type]
    assert not tree.complaints, tree.complaints
    return {entry.path: entry.data for entry in tree.entries if entry.kind == "file"}


def check_cut_collection(store: ZephyrNvs | ZephyrZms, writes: int, digits: int, folder: Path, *, finish: bool) -> None:
    """A garbage collection is cut off: each value is there, and a note says how far it came."""
    expected = {}
    for number in range(writes):
        expected[number % 5] = bytes([number]) * 60
        store.write(number % 5, expected[number % 5])
    store.close()
    store.collect(finish=False)
    if finish:
        store._done()
    path = saved(folder, store.image())
    assert files(path) == {f"0x{number:0{digits}x}": value for number, value in expected.items()}
    (note,) = [note for note in inspect_image(path)["notes"] if "garbage collection" in note]
    assert ("to its end, the erase did not" in note) == finish
