"""The sandbox of one session: which files it sees, and which hosts it reaches."""

import os
import re
import shutil
import stat
import sys
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from urllib.parse import urlsplit

from ghx_base.files.scratch import ScratchFolder
from ghx_base.own_code import own_folders
from ghx_bench.modes.presets import ORIGIN_SWAP
from ghx_bench.modes.program_path import BEHIND, GHX, targets_of
from ghx_profiler.agents.processes.sandbox import LOOPBACK, bounded_tmpfs, expose_host, expose_port, open_sandbox
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.evidence import Mode
from ghx_profiler.shell.names import words_in

_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")))
# Named one by one: /etc also holds what is secret on a machine.
_SETTINGS = tuple(
    Path("/etc", name)
    for name in words_in(
        """
    alternatives bash.bashrc ca-certificates crypto-policies debian_version gai.conf group host.conf inputrc
    ld.so.cache ld.so.conf ld.so.conf.d localtime magic mime.types nsswitch.conf os-release passwd pki profile
    protocols services ssl terminfo timezone
    """
    )
)
_MACHINE_FILES = frozenset(
    words_in(
        """
    acpi asound bus cmdline config.gz consoles crypto devices diskstats driver fs interrupts iomem ioports irq kallsyms
    kcore key-users keys kmsg locks misc modules partitions scsi swaps sysrq-trigger timer_list version
    """
    )
)
"""What /proc says about the machine to every account, and no program of a session needs."""
_BOOT_ID, _NO_BOOT_ID = Path("/proc/sys/kernel/random/boot_id"), "00000000-0000-0000-0000-000000000000\n"
_PARTS_FOR_GHX = frozenset({"ghx_base", "ghx_tools"})
"""What `ghx` consists of. Not among them: scenarios, solutions and fixtures, and the emulator."""
_FILES_OF_CLIENTS = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GHX_UNIX_SOCKET")
_SHEBANG = re.compile(rb"#!\s*(\S+)")
_NODE_MODULES = "node_modules"
_OF_NODE = frozenset({"node", "npm", "npx"})
_PORTS_OF_HOSTS = (443, 80)
_SHARED_MEMORY, _MOST_SHARED_MEMORY = "/dev/shm", 256 << 20  # noqa: S108 - of each command its own


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPlan:
    """What the sandboxes of all sessions of a run have in common."""

    visible: tuple[Path, ...] = ()
    """Further files and folders that sessions may read."""
    hidden: tuple[Path, ...] = ()
    """Folders that sessions must not see, wherever they are."""
    reachable_hosts: tuple[str, ...] = ()
    reachable_ports: tuple[int, ...] = ()
    """Of this machine."""


class Sandboxes:
    """Makes the sandboxes of a run's sessions."""

    def __init__(self, plan: SandboxPlan) -> None:
        self._plan = plan
        self._hosts = {host: f"127.0.0.{number}" for number, host in enumerate(plan.reachable_hosts, start=2)}
        # By the path of a session and by what an agent is started from: finding out what these need takes milliseconds.
        self._mounts: dict[tuple[str, tuple[Path, ...]], tuple[str, ...]] = {}
        self._settings: ScratchFolder | None = None

    @asynccontextmanager
    async def open(self, folder: Path, environment: Mapping[str, str], mode: Mode) -> AsyncGenerator[None]:
        """Start whatever this task starts in a sandbox that shows the session's own folder and the mode's tools."""
        if self._settings is None:
            self._settings = ScratchFolder()
            _copy_settings(self._settings.path / "etc", {"localhost": LOOPBACK, **self._hosts})
            (self._settings.path / _BOOT_ID.name).write_text(_NO_BOOT_ID)
        (folder / "tmp").mkdir()
        machine = tuple(_mounts_of_machine(folder, self._settings.path))
        session = tuple(_mounts_of_session(folder, environment))

        def mounts_for(started_from: tuple[Path, ...]) -> tuple[str, ...]:
            key = mode.environment["PATH"], started_from
            if key not in self._mounts:
                self._mounts[key] = tuple(_mounts_of_programs(self._plan, mode, started_from))
            mounts = (*machine, *self._mounts[key], *session)
            return *mounts, *_close(mounts)

        async with AsyncExitStack() as stack:
            await stack.enter_async_context(open_sandbox(mounts_for, self._hosts))
            for port in dict.fromkeys((*_ports_in(environment, mode), *self._plan.reachable_ports)):
                await stack.enter_async_context(expose_port(port))
            for host, port in product(self._hosts, _PORTS_OF_HOSTS):
                await stack.enter_async_context(expose_host(host, port))
            yield


def _copy_settings(folder: Path, hosts: Mapping[str, str]) -> None:
    """Fill a folder that stands for /etc."""
    folder.mkdir()
    # A folder, and not each of them for itself: every mount takes half a millisecond of every command.
    for source in filter(Path.exists, _SETTINGS):
        with suppress(shutil.Error, OSError):  # what cannot be read here cannot be read in a session either
            if source.is_dir():
                # Keys of the machine's certificates are in `private`, which root could read.
                without_keys = shutil.ignore_patterns("private")
                shutil.copytree(source, folder / source.name, symlinks=True, ignore=without_keys)
            else:
                shutil.copyfile(source, folder / source.name)
    (folder / "hosts").write_text("".join(f"{address} {name}\n" for name, address in hosts.items()))


def _mounts_of_machine(folder: Path, settings: Path) -> Iterator[str]:
    """Yield what every session sees, as options of bubblewrap: later ones lie over earlier ones."""
    yield from _mounts_of_kernel()
    if _BOOT_ID.exists():
        yield from ("--ro-bind", str(settings / _BOOT_ID.name), str(_BOOT_ID))
    yield from ("--dev", "/dev", "--dir", "/run")
    yield from bounded_tmpfs(_SHARED_MEMORY, _MOST_SHARED_MEMORY)
    # Before all others, since modes' folders are often in it. Not new for every command, as nothing of a session is.
    for place in ("/tmp", "/var/tmp"):  # noqa: S108 - in the session's own folder
        yield from ("--bind", str(folder / "tmp"), place)
    for path in _SYSTEM:
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        else:
            yield from _read_only(path)
    yield from ("--ro-bind", str(settings / "etc"), "/etc")


def _mounts_of_kernel() -> Iterator[str]:
    """Yield a /proc without what is for root alone or describes the machine; `_close` makes the rest read-only.

    Isolation by user is not enough: where the bench is root, the kernel takes a session for root in all of /proc.
    """
    yield from ("--proc", "/proc")
    for path in sorted(Path("/proc").iterdir()):
        if path.name.isdigit() or path.is_symlink():
            continue
        is_for_root = not path.stat().st_mode & stat.S_IROTH and os.access(path, os.R_OK)
        # Not everything else as well: each takes a quarter of a millisecond of every command.
        if path.name in _MACHINE_FILES or is_for_root:
            yield from ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", os.devnull, str(path))


def _mounts_of_programs(plan: SandboxPlan, mode: Mode, started_from: Iterable[Path]) -> Iterator[str]:
    """Yield the tools of a mode and what an agent is started from, and what covers that which must not be seen."""
    hidden = (*plan.hidden, *own_folders())
    # What is hidden in a system folder, as a project in /usr/src is; then the tools, which may be in just that.
    yield from _cover(hidden, _SYSTEM)
    programs = _programs_of(mode)
    files = {each for program in (*programs, *started_from) for each in _files_of(program)}
    needed = _outermost(files.union(plan.visible))
    folders = _folders_of(mode)
    for path in needed:
        if not any(map(path.is_relative_to, (*_SYSTEM, *_SETTINGS, *folders))) or any(map(path.is_relative_to, hidden)):
            yield from _read_only(path)
    # What is hidden in a folder of tools: a virtual environment has the scenarios of the package in it.
    yield from _cover(hidden, needed)
    if Path(sys.executable) in programs:
        for package in own_folders():
            if package.name in _PARTS_FOR_GHX:
                yield from _read_only(package)
    values = [value for server in ToolSet.of(mode).mcp_servers.values() for value in server.environment.values()]
    if any(str(ORIGIN_SWAP) in value for value in values):
        yield from _read_only(ORIGIN_SWAP)
    for folder in folders:
        yield from _read_only(folder)


def _mounts_of_session(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what one session alone sees."""
    for each in (folder / "home", folder / "work"):
        yield from ("--bind", str(each), str(each))
    for variable in _FILES_OF_CLIENTS:
        yield from _read_only(Path(environment[variable]))


def _close(mounts: tuple[str, ...]) -> Iterator[str]:
    """Yield what keeps a session from writing outside its own folders: only their size is limited."""
    in_memory = [place for option, place in pairwise(mounts) if option == "--tmpfs" and place != _SHARED_MEMORY]
    # After all mounts: until then, places for these are made in them.
    for place in dict.fromkeys((*in_memory, "/proc", "/dev", "/")):
        yield from ("--remount-ro", place)


def _read_only(path: Path) -> tuple[str, ...]:
    return ("--ro-bind-try", str(path), str(path))


def _cover(hidden: Iterable[Path], visible: Iterable[Path]) -> Iterator[str]:
    """Yield what covers the folders that are inside of those that are seen."""
    for folder in hidden:
        if folder.is_dir() and any(folder != each and folder.is_relative_to(each) for each in visible):
            yield from ("--tmpfs", str(folder))


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return paths without those inside other ones."""
    outermost: list[Path] = []
    for path in sorted(paths):  # a folder comes before what is in it
        if not any(map(path.is_relative_to, outermost)):
            outermost.append(path)
    return outermost


def _programs_of(mode: Mode) -> list[Path]:
    """Return the programs of a mode: what its path leads to, and what its MCP servers are started from."""
    tools = ToolSet.of(mode)
    placed = [each for folder in _folders_of(mode) for each in folder.iterdir()]
    programs = [*placed, *(target for each in placed for target in targets_of(each))]
    if GHX in tools.tools:
        programs.append(Path(sys.executable))
    for server in tools.mcp_servers.values():
        words = (*server.words, server.environment.get("npm_config_cache", ""))
        programs += [Path(word) for word in words if os.path.isabs(word) and os.path.exists(word)]  # noqa: PTH110, PTH117 - any text
    return [*dict.fromkeys(programs)]


def _folders_of(mode: Mode) -> list[Path]:
    """Return the folders of a mode's programs: its path, and what is behind the tools on it."""
    path = Path(mode.environment["PATH"])
    return [each for each in (path, path.with_name(BEHIND)) if each.is_dir()]


def _files_of(program: Path) -> Iterator[Path]:
    """Yield what a program needs to be seen: itself, its interpreter, and the installation that either belongs to."""
    while True:
        yield from _installation_of(program)
        yield program
        if not program.is_symlink():
            break
        program = Path(os.path.normpath(program.parent / program.readlink()))
    if program.is_file():
        with program.open("rb") as file:
            shebang = _SHEBANG.match(file.read(256))
        if shebang and (interpreter := Path(os.fsdecode(shebang[1]))).is_absolute():
            yield from _files_of(interpreter)


def _installation_of(program: Path) -> Iterator[Path]:
    """Yield the folder that a program is installed in with its libraries; nothing for a program by itself."""
    if _NODE_MODULES in program.parts:
        yield Path(*program.parts[: program.parts.index(_NODE_MODULES) + 1])
    prefix = program.parent.parent
    is_python = program.name.startswith("python")
    if program.parent.name != "bin" or not (is_python or program.name in _OF_NODE):
        return
    if (prefix / "pyvenv.cfg").is_file():
        yield prefix
    elif is_python or (prefix / "lib" / _NODE_MODULES).is_dir():
        # Of a whole home or the like, only the libraries.
        yield prefix / "lib"


def _ports_in(environment: Mapping[str, str], mode: Mode) -> list[int]:
    """Return the ports of this machine that a session needs: its proxy's, and those of running MCP servers."""
    urls = [environment["HTTPS_PROXY"], *(server.url or "" for server in ToolSet.of(mode).mcp_servers.values())]
    places = [urlsplit(url) for url in urls]
    return [each.port for each in places if each.hostname in {LOOPBACK, "localhost"} and each.port]
