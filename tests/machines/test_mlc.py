"""MLC in experiments: who takes it, what SLC mode makes of it; and software BCH in reference runs."""

from __future__ import annotations

import pytest

from ffslab import Experiment, InputError
from ffslab.measured.reference import chip, plan

STACK = """title = "MLC"
[stack]
board = "omap3evm"
part = "{part}"
kernel = "{kernel}"
fs = "{fs}"
partition_blocks = 64
max_beb_per1024 = 1
{more}

[[measure]]
step = "mount"

[[measure]]
step = "create"
file = "target"
bytes = "1 MiB"

[[measure]]
step = "sync"
"""


def experiment(fs: str = "ubifs", part: str = "k9gag08u0m", kernel: str = "6.1", more: str = "") -> Experiment:
    text = STACK.format(fs=fs, part=part, kernel=kernel, more=more)
    return Experiment.from_toml(text if fs == "ubifs" else text.replace("max_beb_per1024 = 1\n", ""))


def test_ubi_refuses_mlc_and_the_message_names_the_way_out() -> None:
    with pytest.raises(InputError, match=r"its cells are mlc: UBI says .*build\.c.*slc_mode = true"):
        experiment().run()
    with pytest.raises(InputError, match=r"Linux has it since 5\.8"):
        experiment(kernel="4.19", more="slc_mode = true").run()
    with pytest.raises(InputError, match="jffs2_cleanmarker_oob"):
        experiment("jffs2").run()


def test_slc_mode_needs_twice_the_erase_blocks_and_programs_fast_pages() -> None:
    plain = experiment(kernel="2.6.37").run().variants.iloc[0]
    slc = experiment(more="slc_mode = true").run().variants.iloc[0]
    assert slc["page_programs"] > 256
    per_program_us = [row["busy_us"] / row["page_programs"] for row in (plain, slc)]
    assert per_program_us[1] < per_program_us[0]


def test_a_reference_run_has_software_bch_by_strength() -> None:
    more = 'ecc = "bch"\necc_strength_bits = 8'
    (variant,) = plan.variants(experiment(part="mt29f2g08abaea", more=more), "name")
    assert variant.bch_bits == 8
    assert chip.parameters(variant.flash, variant.bch_bits).endswith(" bch=8")
    (variant,) = plan.variants(experiment(part="mt29f2g08abaea", more='ecc = "bch"'), "name")
    assert variant.bch_bits == 4
    (variant,) = plan.variants(experiment(part="mt29f2g08abaea"), "name")
    assert variant.bch_bits is None
    with pytest.raises(InputError, match="bitflip_threshold_bits: a reference run"):
        plan.variants(experiment(part="mt29f2g08abaea", more="bitflip_threshold_bits = 1"), "name")
