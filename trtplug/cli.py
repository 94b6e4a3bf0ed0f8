"""The commands, and the only module that prints or exits; a new command is a function here over what others compute."""

from __future__ import annotations

import contextlib
import difflib
import gc
import glob
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from trtplug import __version__
from trtplug.plugin_api import PluginApi
from trtplug.problems import Problem, SpecError

# What a command needs beyond this is imported where it is used: `trtplug --help` answers at once, and nothing here
# imports torch, which only the processes of `verify` and `doctor` do.
if TYPE_CHECKING:
    from rich.console import Console

    from trtplug.fileset import Plan
    from trtplug.model import Package
    from trtplug.verify.run import Listener

_BAD_INPUT = 2


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Every command, with the ends that a user may bring about."""
        from trtplug.fileset import FolderError

        try:
            return super().invoke(ctx)
        except SpecError as error:
            _refuse_problems(error.problems)
        except FolderError as error:
            _refuse(str(error))
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # Whoever read the output has seen enough; nothing more can be written there, not even at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Commands,
    help="From a YAML spec and a Triton kernel to a tested Python package: PyTorch op, TensorRT plugin, "
    "Torch-TensorRT converter and ONNX export.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Specs = Annotated[list[Path], typer.Argument(metavar="SPEC", help="Spec files.", show_default=False)]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder of the package; of several specs, the folder above. Default: build/<distribution>.",
        show_default=False,
    ),
]
Together = Annotated[
    str | None,
    typer.Option(
        "--package",
        metavar="NAME",
        help="One package of this import name that holds all the ops, instead of one for each.",
        show_default=False,
    ),
]
Library = Annotated[
    Path | None,
    typer.Option("--library", metavar="FILE", help="A shared library of plugins to load first.", show_default=False),
]
Api = Annotated[
    PluginApi | None,
    typer.Option(
        "--plugin-api",
        help="The interface of the plugins, whatever the specs say: IPluginV3, or IPluginV2DynamicExt.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that were edited.")]


def main() -> None:
    """The console script."""
    # A command is over before there is garbage that would be worth the time of looking for it.
    gc.disable()
    try:
        app(prog_name="trtplug")
    finally:
        gc.freeze()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trtplug {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Options before the command."""


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the op, in snake_case.", show_default=False)],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE.py:KERNEL", help="Start from this Triton kernel.", show_default=False),
    ] = None,
    plugin: Annotated[
        str | None,
        typer.Option(
            "--plugin",
            metavar="NAME[:VERSION]",
            help="Start from this plugin of TensorRT's registry, which stands for the op.",
            show_default=False,
        ),
    ] = None,
    library: Library = None,
    force: Force = False,
) -> None:
    """Write specs/NAME.yaml and specs/NAME.py, to edit: a small op that builds and verifies as it stands."""
    from trtplug import fileset, scaffold

    folder = Path("specs")
    try:
        if source and plugin:
            _refuse("start from a kernel or from a plugin: give --from or --plugin")
        if library and not plugin:
            _refuse("a library registers plugins: name one of them with --plugin")
        if plugin:
            files = scaffold.from_plugin(name, plugin, library)
        else:
            files = scaffold.from_kernel(name, source, folder) if source else scaffold.starter(name)
    except scaffold.ScaffoldError as error:
        _refuse(str(error))
    plan = fileset.plan(files, folder, force=force, tracked=False)
    remedy = "choose another name, or add --force to overwrite"
    if source and any(entry.path.name == Path(source.rpartition(":")[0]).name for entry in plan.conflicts):
        remedy = f"to start from the file in {folder}, name that one after --from; --force overwrites it"
    _refuse_conflicts([plan], "exists", remedy)
    fileset.apply(plan)
    for path in files:
        typer.echo(f"wrote {folder / path}")
    spec = folder / f"{name}.yaml"
    after = "edit the lines that are marked '# guess', then " if source or plugin else ""
    typer.echo(f"next: {after}trtplug build {spec} && trtplug verify {spec}")


@app.command()
def build(
    specs: Specs, together: Together = None, api: Api = None, output: Output = None, force: Force = False
) -> None:
    """Write the package that each spec describes, or one package of all of them."""
    from trtplug import fileset

    plans = _plans(specs, together, api, output, force)
    for plan in plans if not force else ():
        if other := fileset.other_package(plan):
            _refuse(f"{plan.folder} holds the package {other}, which would be deleted; choose another folder with -o")
    _refuse_conflicts(
        plans, "was not written by trtplug, or edited since", "see trtplug diff; add --force to overwrite"
    )
    for plan in plans:
        fileset.apply(plan)
        typer.echo(f"{plan.folder}: {_counts(plan)}")


@app.command()
def verify(
    targets: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SPEC or PACKAGE]...",
            help="Specs, or folders of packages. Default: specs/*.yaml.",
            show_default=False,
        ),
    ] = None,
    together: Together = None,
    api: Api = None,
    require: Annotated[
        list[str] | None, typer.Option("--require", metavar="STAGE", help="Fail if this stage cannot run (repeatable).")
    ] = None,
    stage: Annotated[
        list[str] | None, typer.Option("--stage", metavar="STAGE", help="Run only this stage (repeatable).")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the results as JSON.", show_default=False)
    ] = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML.", show_default=False)
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j",
            "--jobs",
            metavar="N",
            min=1,
            help="Stages at a time, over all packages. Default: one a core.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Work in this empty folder, and leave it.", show_default=False),
    ] = None,
) -> None:
    """Build each package as a wheel, install it in a scratch environment, and run every stage that can run here."""
    import signal

    from trtplug import doctor, report
    from trtplug.verify import run, target

    # What stops it stops its processes too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    stages, required = _stages(stage or run.NAMES), _stages(require or [])
    if outside := [name for name in required if name not in stages]:
        _refuse(f"--require {outside[0]} is not among the stages of --stage; add it there")
    given = targets or _every_spec()
    if folders := [path for path in given if path.is_dir()]:
        if together is not None:
            _refuse(f"--package makes a package of specs, and {folders[0]} is a folder; name its spec instead")
        if api is not None:
            _refuse(f"--plugin-api is about specs, and {folders[0]} is a package as it is; name its spec instead")
    for file in (json_file, junit_file):
        if file and not file.absolute().parent.is_dir():
            _refuse(f"cannot write {file}: its folder does not exist; make it first")
    found = target.targets(given, together, api)
    facts = doctor.examine()
    options = run.Options(stages, required, jobs or len(os.sched_getaffinity(0)), keep)
    console = _console()
    try:
        with _progress(console) as listener:
            result = run.verify(found, facts, options, listener)
    except run.CannotVerify as error:
        _refuse(str(error))
    for package in result.packages:
        if console.is_terminal:
            console.print(report.table(package))
    typer.echo(report.outputs(result), nl=False)
    for file, text in ((json_file, report.to_json), (junit_file, report.to_junit)):
        if file:
            _write(file, text(result))
    for package in result.packages:
        typer.echo(report.summary(package))
    raise typer.Exit(1 if result.failed else 0)


@app.command()
def check(specs: Specs, together: Together = None, api: Api = None) -> None:
    """Say everything that is wrong with each spec, or with one package of all of them, and write nothing."""
    from trtplug import package, render

    for found in package.read(specs, together, api):
        render.render_package(found)
    for spec in specs:
        typer.echo(f"{spec}: ok")


@app.command()
def diff(specs: Specs, together: Together = None, api: Api = None, output: Output = None) -> None:
    """Show what `build` would change on disk: exit status 0 if nothing, 1 if anything."""
    from trtplug import fileset

    patch = "".join(map(fileset.unified_diff, _plans(specs, together, api, output, force=False)))
    console = _console()
    if console.is_terminal and patch:
        from rich.syntax import Syntax

        console.print(Syntax(patch, "diff", background_color="default"))
    else:
        typer.echo(patch, nl=False)
    raise typer.Exit(1 if patch else 0)


@app.command("doctor")
def doctor_command() -> None:
    """Say what is installed, which stages of `verify` can run here, and what would enable the others."""
    from trtplug import doctor
    from trtplug.verify.run import STAGES

    facts = doctor.examine()
    rows = [(name, library.version or f"- {library.problem}") for name, library in facts.found.items()]
    _columns(("installed", ""), rows)
    typer.echo()
    stages = []
    for stage in STAGES:
        missing = doctor.missing(stage.needs, facts)
        can = f"no: {doctor.reason(missing, facts)}" if missing else "yes"
        stages.append((stage.name, stage.proves, can, doctor.remedy(missing, facts)))
    _columns(("stage", "proves that", "runs here", "to enable it"), stages)


@app.command()
def plugins(library: Library = None) -> None:
    """List the plugins that TensorRT has registered here, each with its fields and their types."""
    from trtplug import registry

    try:
        found = registry.entries([library] if library else [])
    except registry.RegistryError as error:
        _refuse(str(error))
    rows = [
        (
            entry.name,
            entry.version,
            entry.namespace or "-",
            ", ".join(f"{f}: {k}" for f, k in entry.fields.items()) or "-",
        )
        for entry in sorted(found, key=lambda entry: (entry.name, entry.version))
    ]
    _columns(("plugin", "version", "namespace", "fields"), rows)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a spec, for editors."""
    from trtplug import spec

    typer.echo(json.dumps(spec.json_schema(), indent=2))


def _plans(
    specs: Sequence[Path], together: str | None, api: PluginApi | None, output: Path | None, force: bool
) -> list[Plan]:
    """What building the packages would do, each in a folder of its own."""
    from trtplug import fileset, package, render

    packages = package.read(specs, together, api)
    folders = [_folder(found, output, len(packages) > 1) for found in packages]
    for folder in folders:
        if folders.count(folder) > 1:
            _refuse(f"several specs build {folder}; give each its own package.name, or add --package NAME")
    files = map(render.render_package, packages)
    return [fileset.plan(each, folder, force=force) for each, folder in zip(files, folders, strict=True)]


def _folder(package: Package, output: Path | None, several: bool) -> Path:
    above = output or Path("build")
    return output if output and not several else above / package.distribution


def _every_spec() -> list[Path]:
    specs = [Path(path) for path in sorted(glob.glob("specs/*.yaml"))]
    if not specs:
        _refuse("there is no specs/*.yaml here; name a spec or a package, or start one with trtplug new NAME")
    return specs


def _stages(names: Sequence[str]) -> tuple[str, ...]:
    from trtplug.verify.run import NAMES

    for name in names:
        if name not in NAMES:
            close = difflib.get_close_matches(name, NAMES, n=1)
            remedy = f"did you mean '{close[0]}'?" if close else f"the stages are {', '.join(NAMES)}"
            _refuse(f"unknown stage '{name}'; {remedy}")
    return tuple(name for name in NAMES if name in names)


@contextlib.contextmanager
def _progress(console: Console) -> Iterator[Listener]:
    from trtplug import report

    if not console.is_terminal:
        yield report.Lines(typer.echo)
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(finished_text=" "), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield report.Spinners(progress)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    console = _console()
    if console.is_terminal:
        from rich.table import Table
        from rich.text import Text

        table = Table(*headings)
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
        return
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for row in (headings, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _counts(plan: Plan) -> str:
    from trtplug.fileset import Action

    words = {
        Action.CREATE: "created",
        Action.UPDATE: "updated",
        Action.DELETE: "deleted",
        Action.IDENTICAL: "unchanged",
    }
    return ", ".join(f"{len(plan.having(action))} {word}" for action, word in words.items() if plan.having(action))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        _refuse(f"cannot write {path}: {error.strerror}; choose another file")


def _refuse_conflicts(plans: Sequence[Plan], what: str, remedy: str) -> None:
    conflicts = [plan.folder / entry.path for plan in plans for entry in plan.conflicts]
    if conflicts:
        _refuse("\n".join(f"{path}: {what}" for path in conflicts) + f"\nnothing was written; {remedy}")


def _refuse_problems(problems: Sequence[Problem]) -> NoReturn:
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    _refuse("\n".join(map(str, problems)) + f"\n{count}; nothing was written")


def _refuse(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(_BAD_INPUT)
