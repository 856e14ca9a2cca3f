"""Machines that QEMU emulates for a real kernel: boards, consoles, and how each gets its jobs.

Facts: QEMU, docs/system/{arm/virt,riscv/virt}.rst and target-mips.rst.inc (serial ports of the boards).
"""

from __future__ import annotations

from dataclasses import dataclass

# A second serial port is all that jobs need. The boards "virt" have only one, so it is a virtio console there.
SERIAL_JOBS = ("-serial", "stdio")
VIRTIO_JOBS = ("-device", "virtio-serial-pci", "-chardev", "stdio,id=jobs", "-device", "virtconsole,chardev=jobs")


@dataclass(frozen=True)
class Architecture:
    """An architecture by Debian's name for it."""

    name: str
    qemu: str
    board: tuple[str, ...]  # options of QEMU: board and CPU
    console: str  # terminal of the kernel's messages: the first serial port
    jobs: str  # terminal of the jobs
    jobs_port: tuple[str, ...]  # options of QEMU for it
    arguments: str  # of the kernel, for this board only
    kernel_package: str
    qemu_package: str
    cc: str  # C compiler for programs of the guest
    cc_packages: str
    modules: tuple[str, ...] = ()  # what else must be loaded at the boot


AMD64 = Architecture(
    name="amd64",
    qemu="qemu-system-x86_64",
    board=(),
    console="ttyS0",
    jobs="ttyS1",
    jobs_port=SERIAL_JOBS,
    arguments="mitigations=off tsc=reliable no_timer_check",
    kernel_package="linux-image-amd64",
    qemu_package="qemu-system-x86",
    cc="cc",
    cc_packages="gcc libc6-dev",
    # Compiled in up to 6.1. Without them there is no UBIFS.
    modules=("deflate", "lzo"),
)
ARMHF = Architecture(
    name="armhf",
    qemu="qemu-system-arm",
    # Without large physical addresses all of PCI must be below 4 GiB.
    board=("-M", "virt,highmem=off", "-cpu", "cortex-a15"),
    console="ttyAMA0",
    jobs="hvc0",
    jobs_port=VIRTIO_JOBS,
    arguments="",
    kernel_package="linux-image-armmp",
    qemu_package="qemu-system-arm",
    cc="arm-linux-gnueabihf-gcc",
    cc_packages="gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
    # Without deflate there is no UBIFS.
    modules=("virtio_console", "deflate", "lzo"),
)
ARCHITECTURES = {architecture.name: architecture for architecture in (AMD64, ARMHF)}
