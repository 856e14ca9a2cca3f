"""The verbs `ffslab foreign ...`: C programs on simulated chips."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli.parts import argument, group, option, verb
from ffslab.terminal.printing import detail, say

foreign_app = group(
    "Compile C programs for simulated chips, and read their results. See docs/libffslab.md.", "ffslab foreign flags"
)


@foreign_app.callback()
def _foreign(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        ls()


@verb(foreign_app, "ls")
def ls() -> None:
    """List what `foreign build` can build of your sources.

    Example: ffslab foreign ls
    """
    from ffslab.foreign.build import ADAPTERS

    width = max(map(len, ADAPTERS)) + 2
    for name, (project, _) in ADAPTERS.items():
        say(f"{name:<{width}}{project}: ffslab foreign build {name} --source DIR")


@verb(foreign_app, "flags")
def flags() -> None:
    """Print what a C compiler needs to compile a program and link it with libffslab.

    `make lib` in the source tree of ffslab builds the library.

    Example: ffslab foreign flags
    """
    import shlex

    from ffslab import foreign

    say(shlex.join(foreign.flags()))


@verb(foreign_app, "include")
def include() -> None:
    """Print the folder of ffslab.h, and of headers that connect it with littlefs, SPIFFS, Zephyr and others.

    Example: ffslab foreign include
    """
    from ffslab import foreign

    say(str(foreign.INCLUDE))


@verb(foreign_app, "build")
def build(
    adapter: Annotated[str, argument("ADAPTER", "What is built, as `ffslab foreign ls` lists it.")],
    source: Annotated[
        Path,
        option(
            "--source DIR",
            "Folder with the sources: that of lfs.c, spiffs.h, ff.c, map.h or nvs.c, or Zephyr's or FlashDB's tree.",
        ),
    ],
    config: Annotated[
        Path | None,
        option(
            "--config FILE",
            "Header that configures the sources: LFS_CONFIG, spiffs_config.h, ffconf.h, autoconf.h, fdb_cfg.h.",
        ),
    ] = None,
    out: Annotated[Path | None, option("--out FILE", "File to write. [default: ADAPTER.so]")] = None,
) -> None:
    """Compile your own version of a file system or store to a library that experiments name.

    The C compiler is `cc`, or what CC names. An experiment takes the library by `library` in the table
    of the same name, as in `[stack.littlefs]`, and Dhara by `dhara_library` in `[stack.fatfs]`.

    Example: ffslab foreign build littlefs --source littlefs --out littlefs.so
    """
    from ffslab._native import InputError
    from ffslab.foreign.build import ADAPTERS
    from ffslab.foreign.compiling import CompilerError

    if adapter not in ADAPTERS:
        message = f"{adapter}: cannot be built; known are {', '.join(ADAPTERS)}"
        raise InputError(message)
    out = out or Path(f"{adapter}.so")
    project, build_it = ADAPTERS[adapter]
    try:
        version = build_it(source, config, out)
    except CompilerError as error:
        say(error.said.rstrip(), sys.stderr)
        raise
    say(f"{out}: {project} {version}" if version else f"{out}: {project}")


@verb(foreign_app, "report")
def report(folder: Annotated[Path, argument("DIR", "Results that a program wrote with ffslab_results().")]) -> None:
    """Add tables and a report to the results of a C program, and print the table that `ffslab run` prints.

    Example: ffslab foreign report results
    """
    from ffslab import foreign
    from ffslab.api.run import Run
    from ffslab.text.machine_line import initial_of
    from ffslab.text.summary import summary_text

    foreign.add_report(folder)
    done = Run.load(folder)
    say(summary_text(done.summary, initial_of(done.resolved_toml)))
    detail(f"report: {folder / 'report.html'}")
