"""Plays operations on a machine and on the model, and compares what both say."""

from __future__ import annotations

import contextlib
import errno
import json
from collections import Counter
from typing import Any

from campaign.case import Case, Found
from campaign.files import FOLDER, Files, Node, Promises, content, difference, tree_difference
from campaign.operations import Op
from campaign.quirks import (
    IN_MEMORY,
    LACKS,
    MOUNTS_MOST,
    NO_ROOM,
    PAGE_B,
    PROMISE_NOTHING,
    WITH_INODES,
    Full,
    Lost,
    brings_names_back,
    has_gap_bug,
    is_mlc,
    name_of,
    refuses_fsync,
)
from ffslab import InputError, PowerCut, Stack
from ffslab.systems import DEFAULT


class Play:
    """A machine with its model. What is wrong is raised as `Found`."""

    def __init__(self, case: Case) -> None:
        self.machine: dict[str, Any] = case["machine"]
        self.ops: list[Op] = case["ops"]
        self.counts: Counter[str] = Counter()
        self.stack = Stack.of(self.machine, case["seed"], case["initial"])
        self.files, self.promises = Files(), Promises()
        # Descriptors that stay open, each with its file.
        self.slots: dict[int, tuple[int, Node]] = {}
        self.own: set[str] = set()
        # With pages that fail a file may be lost, too, and calls end in EIO.
        self.is_damaged = any(key.startswith("weak") for key in self.machine.get("faults", {}))
        self.keeps = self.machine["fs"] not in PROMISE_NOTHING and not self.is_damaged and not is_mlc(self.stack)
        self.has_gap_bug = has_gap_bug(self.stack)
        self.may_list_twice = False
        self.brings_names_back = brings_names_back(self.stack)
        self.is_linux = self.machine["system"] == DEFAULT.name

    # ---- the whole ------------------------------------------------------------------------------------------

    def all(self) -> None:
        """Mounts, does every operation, compares everything, mounts again, compares everything again."""
        self.stack.mount()
        self.own = set(self.stack.listdir("/"))
        for number, op in enumerate([*self.ops, ["look"], ["remount"], ["look"]]):
            try:
                self.one(op)
                self.counts["calls"] += 1
            except Found as found:
                raise Found(found.fault.what, f"operation {number}, {told(op)}: {found.fault.says}") from None
            except Lost:
                self.counts["lost"] += 1
                return

    def one(self, op: Op) -> None:
        """An operation, and what follows if the power went away in it."""
        try:
            self.do(op)
        except PowerCut:
            self.boot()
            return
        if not self.stack.is_powered:
            self.boot()

    def do(self, op: Op) -> None:
        name, *rest = op
        match name:
            case "cut":
                self.arm(*rest)
            case "look":
                self.look()
            case "remount":
                self.remount()
            case "sleep":
                self.stack.sleep(*rest)
            case "drop":
                self.call(self.stack.drop_caches)
            case "sync":
                if self.call(self.stack.sync):
                    self.promises.all_synced(self.files)
            case "open":
                self.open(*rest)
            case "close":
                self.close(*rest)
            case "write" | "append" | "read" | "truncate" | "fsync":
                self.on_file(name, *rest)
            case _:
                self.on_names(name, *rest)

    def call(self, function: Any, *given: Any, why_not: str | None = None, **named: Any) -> bool:
        """Makes a call that the model does not refuse, or refuses for a reason; whether it was done.

        Raises `Found` when both do not agree, `Lost` when the chip is broken, `PowerCut`.
        """
        try:
            function(*given, **named)
        except PowerCut:
            raise
        except (OSError, InputError) as error:
            self.refused(error, why_not)
            return False
        if why_not:
            raise Found("done", f"done, and should end in {why_not}")
        return True

    def refused(self, error: OSError | InputError, why_not: str | None = None) -> None:
        said = name_of(error)
        if not self.stack.is_powered:
            raise PowerCut(errno.EIO, "the power went away")
        if said in NO_ROOM:
            self.counts["no room"] += 1
            raise Full(said)
        if why_not or said in LACKS:
            return
        if self.is_damaged and said in ("EIO", "EROFS", "EUCLEAN"):
            raise Lost
        raise Found("error", f"{said}: {error}")

    # ---- files ----------------------------------------------------------------------------------------------

    def on_file(self, name: str, target: str | int, *rest: Any) -> None:
        """A call on a path, or on the descriptor of a slot if one is open there."""
        if isinstance(target, int):
            if target in self.slots:
                self.by_slot(name, *self.slots[target], *rest)
            return
        why_not = self.files.why_not("write" if name == "append" else name, target)
        creates = name in ("write", "append")
        if creates and why_not is None and target not in self.files.names:
            self.promises.moved.add(target)
        try:
            fd = self.stack.open(target, "rdwr create" if creates else "rdwr")
        except PowerCut:
            raise
        except (OSError, InputError) as error:
            try:
                self.refused(error, why_not)
            except Full:
                self.settle()
            return
        if why_not and target in self.files.folders:
            # A folder that can be opened for writing is the affair of a system.
            self.stack.close(fd)
            return
        if why_not:
            raise Found("done", f"opened, and should end in {why_not}")
        node = self.files.create(target)
        before = Node(bytearray(node.data))
        is_full = False
        try:
            self.by_descriptor(name, fd, node, *rest)
        except Full:
            is_full = True
        try:
            self.stack.close(fd)
        except PowerCut:
            raise
        except OSError as error:
            # Some write only now.
            with contextlib.suppress(Full):
                self.refused(error)
            is_full = True
        if is_full:
            self.settle_file(name, target, before, rest)

    def by_slot(self, name: str, fd: int, node: Node, *rest: Any) -> None:
        """Where there is no room for a write, it is seen by the descriptor what it did."""
        try:
            self.by_descriptor(name, fd, node, *rest)
        except Full:
            size = self.stack.fstat(fd).size_bytes
            node.data = bytearray(self.pread(fd, size, 0))

    def by_descriptor(self, name: str, fd: int, node: Node, *rest: Any) -> None:
        if name == "append":
            name, rest = "write", (len(node.data), *rest)
        if name in ("write", "truncate"):
            self.promises.changed.update(self.files.paths_of(node))
        match name:
            case "read":
                self.read(fd, node, *rest)
            case "write":
                self.write(fd, node, *rest)
            case "truncate":
                self.truncate(fd, node, *rest)
            case "fsync":
                self.fsync(fd, node, *rest)

    def read(self, fd: int, node: Node, at: int, size: int) -> None:
        found = self.pread(fd, size, at)
        wanted = bytes(node.data[at : at + size])
        if found != wanted:
            raise Found("content", f"read at {at}: {difference(wanted, found)}")

    def pread(self, fd: int, size: int, at: int) -> bytes:
        try:
            found = self.stack.pread(fd, size, at)
        except PowerCut:
            raise
        except OSError as error:
            self.refused(error)
            return b""
        self.counts["bytes"] += len(found)
        return found

    def write(self, fd: int, node: Node, at: int, size: int, kind: str, seed: int) -> None:
        is_gap = at > len(node.data)
        if is_gap and self.has_gap_bug and at % PAGE_B:
            return
        data = content(kind, size, seed)
        try:
            done = self.stack.pwrite(fd, data, at)
        except PowerCut:
            raise
        except OSError as error:
            self.refused(error)
            return
        self.counts["bytes"] += done
        if done < size:
            self.counts["no room"] += 1
        node.put(data[:done], at)

    def truncate(self, fd: int, node: Node, size: int) -> None:
        if self.call(self.stack.truncate, fd, size):
            node.cut(size)

    def settle_file(self, name: str, path: str, before: Node, rest: tuple[Any, ...]) -> None:
        """A call for which there was no room may have done a part of itself: the rest must be as it was."""
        found = self.stack.read_file(path)
        whole, at, size = Node(bytearray(before.data)), 0, 0
        if name == "truncate":
            whole.cut(rest[0])
        elif name in ("write", "append"):
            at, size, kind, seed = rest if name == "write" else (len(before.data), *rest)
            whole.put(content(kind, size, seed), at)
        sizes = sorted((len(before.data), len(whole.data)))
        if not sizes[0] <= len(found) <= sizes[1]:
            raise Found("content", f"{len(found)} B after a {name} without room, {len(before.data)} B before")
        old = bytes(before.data).ljust(len(found), b"\0")
        for place, byte in enumerate(found):
            if byte != old[place] and not (at <= place < at + size and byte == whole.data[place]):
                raise Found("content", f"byte {place} is another after a {name} without room at {at}")
        self.files.names[path].data = bytearray(found)

    def fsync(self, fd: int, node: Node, data_only: bool) -> None:
        why_not = "EINVAL" if refuses_fsync(self.machine) else None
        if self.call(self.stack.fsync, fd, data_only=data_only, why_not=why_not):
            self.promises.file_synced(self.files, node)

    def open(self, path: str, slot: int) -> None:
        if slot in self.slots or self.files.why_not("read", path):
            return
        self.slots[slot] = (self.stack.open(path, "rdwr"), self.files.names[path])

    def close(self, slot: int) -> None:
        if slot in self.slots:
            self.stack.close(self.slots.pop(slot)[0])

    # ---- names ----------------------------------------------------------------------------------------------

    def on_names(self, name: str, path: str, to: str = "") -> None:
        why_not = self.files.why_not(name, path, to)
        if not self.is_linux and self.is_own_affair(name, path, to, why_not):
            return
        if why_not is None:
            self.promises.moved.update({path, to} - {""})
            self.may_list_twice |= self.machine["fs"] == "yaffs2" and self.loses_a_name(name, path, to)
        try:
            if self.call(self.named(name), why_not=why_not, **given(name, path, to)):
                self.files.change(name, path, to)
        except Full:
            self.settle()

    def loses_a_name(self, name: str, path: str, to: str) -> bool:
        """Whether a file of several names loses one. YAFFS2 gives the file another of them before it deletes the
        hard link that had it (`yaffs_unlink_worker` of yaffs_guts.c): a cut between both leaves that name twice."""
        lost = {"unlink": path, "rename": to}.get(name, "")
        return lost in self.files.names and len(self.files.paths_of(self.files.names[lost])) > 1

    def named(self, name: str) -> Any:
        if name in ("link", "rmdir"):
            return lambda **keys: self.stack._session.run_step(step(name, **keys))
        return getattr(self.stack, name)

    def is_own_affair(self, name: str, path: str, to: str, why_not: str | None) -> bool:
        """In which systems other than Linux differ from it and from each other: they are not asked."""
        is_replaced = name == "rename" and self.files.has(to)
        is_folder = name == "rename" and path in self.files.folders
        return is_replaced or is_folder or (why_not is not None and name in ("unlink", "rmdir", "rename", "link"))

    def settle(self) -> None:
        """A call for which there was no room has left everything as it was."""
        found = self.tree()
        if found != self.files.snapshot():
            raise Found("tree", f"after a call without room: {tree_difference(self.files.snapshot(), found)}")

    # ---- everything -----------------------------------------------------------------------------------------

    def tree(self, inodes: dict[int, Node] | None = None) -> dict[str, bytes | None]:
        """Every file and folder. `inodes` gets the files by their numbers, or is not asked for them."""
        found: dict[str, bytes | None] = {}
        todo = [""]
        while todo:
            folder = todo.pop()
            for name in self.stack.listdir(f"/{folder}"):
                path = f"{folder}/{name}".lstrip("/")
                if not folder and name in self.own:
                    continue
                if path in found:
                    if self.may_list_twice:
                        raise Lost
                    raise Found("tree", f"{path} is listed twice")
                status = self.stack.stat(path)
                if status.kind == "directory":
                    found[path] = FOLDER
                    todo.append(path)
                    continue
                data = self.stack.read_file(path)
                self.counts["bytes"] += len(data)
                if len(data) != status.size_bytes:
                    raise Found("tree", f"{path}: {len(data)} B were read, and stat says {status.size_bytes} B")
                found[path] = data
                if inodes is not None:
                    self.files.names[path] = inodes.setdefault(status.ino, Node(bytearray(data)))
        return found

    def look(self) -> None:
        """Compares everything with the model."""
        try:
            found = self.tree()
        except PowerCut:
            raise
        except OSError as error:
            self.refused(error)
            return
        wanted = self.files.snapshot()
        if found == wanted:
            return
        if self.brings_names_back and self.counts["cuts"] and wanted.items() <= found.items():
            raise Lost
        raise Found("tree", tree_difference(wanted, found))

    def remount(self) -> None:
        for slot in list(self.slots):
            self.close(slot)
        try:
            self.stack.umount()
            self.stack.mount()
        except PowerCut:
            raise
        except (OSError, InputError) as error:
            self.refused(error)
            raise Lost from None
        self.counts["remounts"] += 1
        if self.machine["fs"] in IN_MEMORY:
            self.files = Files()
        self.promises.all_synced(self.files)

    # ---- power cuts -----------------------------------------------------------------------------------------

    def arm(self, operations: int, torn: Any, seed: int) -> None:
        self.call(self.stack.cut_power_after, operations, torn, seed)

    def boot(self) -> None:
        """After a cut: what was synced is there, everything can be read, and the work goes on."""
        self.counts["cuts"] += 1
        self.slots = {}
        try:
            self.switch_on()
            self.files = Files()
            # A cut in a rename may leave both names of one file, which the numbers of inodes tell.
            inodes: dict[int, Node] | None = {} if self.machine["fs"] in WITH_INODES else None
            found = self.tree(inodes)
        except (OSError, InputError) as error:
            if not self.keeps or not self.promises.is_anything:
                raise Lost from None
            raise Found("mount", f"after a power cut: {error}") from None
        except Found:
            if not self.keeps:
                raise Lost from None
            raise
        if not self.keeps:
            # What can be listed may have errors all the same.
            raise Lost
        for wrong in self.promises.broken_by(found):
            if self.brings_names_back and self.counts["cuts"] > 1 and wrong.endswith("nobody made"):
                raise Lost
            raise Found("promise", f"after a power cut: {wrong}")
        for path, data in found.items():
            if data is FOLDER:
                self.files.folders.add(path)
            elif path not in self.files.names:
                self.files.names[path] = Node(bytearray(data or b""))
        # What was read is what is there: it is not known to be synced, and may not be lost again by reading.
        self.promises = Promises()

    def switch_on(self) -> None:
        for _ in range(MOUNTS_MOST):
            self.stack.crash()
            try:
                self.stack.mount()
                if self.machine["fs"] == "littlefs":
                    # The first call that writes ends a rename that was cut (docs/littlefs.md).
                    with contextlib.suppress(FileNotFoundError):
                        self.stack.unlink("no such file")
                return
            except PowerCut:
                self.counts["cuts"] += 1
        raise Found("mount", f"the power went away in {MOUNTS_MOST} mounts, though it was cut once")


def told(op: Op) -> str:
    """Of long names the begin."""
    return " ".join(str(word)[:24] for word in op)


def step(name: str, **keys: object) -> str:
    return json.dumps({"step": name, **keys})


def given(name: str, path: str, to: str) -> dict[str, str]:
    """The arguments of a call that changes names."""
    match name:
        case "rename":
            return {"path": path, "to": to}
        case "link":
            return {"file": path, "to": to}
        case "rmdir":
            return {"dir": path}
    return {"path": path}
