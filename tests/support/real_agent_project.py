"""A project whose agent is a real one with a scripted model, run by the command `ghx-bench` itself."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from bench_command import COMMAND, environment, write_files

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.installation import AGENTS_FOLDER
from ghx_profiler.agents.drivers.recipe import built_in_recipe
from ghx_profiler.agents.testing import Script, ScriptedEndpoint

REAL_KEY = "sk-real-4711-of-the-person"
ROOT = Path(__file__).parents[2]


class RealAgentProject:
    """A folder with a configuration, and a model that is there as long as the block is."""

    def __init__(self, agent: str, folder: Path) -> None:
        self.agent, self.folder, self.endpoint = agent, folder, ScriptedEndpoint()

    def __enter__(self) -> Self:
        self.endpoint.start()
        (self.folder / AGENTS_FOLDER).parent.mkdir(parents=True)
        (self.folder / AGENTS_FOLDER).symlink_to(ROOT / AGENTS_FOLDER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.endpoint.stop()

    def write(self, files: Mapping[str, str]) -> None:
        write_files(self.folder, files)

    def configure(self, *, more_agents: Sequence[str] = (), **settings: Any) -> None:
        """Write the configuration: one mode, one scenario and one session unless the settings say otherwise."""
        url = self.endpoint.url
        is_openai = (built_in_recipe(self.agent).wire or "").startswith("openai")
        options = {"base_url": f"{url}/v1" if is_openai else url, "key_env": "MY_KEY"}
        config = {
            "modes": ["baseline"],
            "models": ["scripted-1"],
            "agents": [{"id": self.agent, "options": options}, *more_agents],
            "scenarios": {"ids": ["issue-triage-001"]},
            "execution": {"repetitions": 1, "warmup": False, "retries": 0},
            **settings,
        }
        self.write({"eval.config.yaml": yaml.safe_dump(config)})

    def start(self, solution: Solution, extra: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        """Start the run; the model decides as the solution says."""
        self.endpoint.add(Script(solution=solution))
        return subprocess.Popen(
            [COMMAND, "run", "--yes", "--no-report"],
            cwd=self.folder,
            env=environment(self.folder, {"MY_KEY": REAL_KEY, **(extra or {})}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, solution: Solution) -> None:
        """Run to the end, which must be a good one."""
        process = self.start(solution)
        _, complaint = process.communicate()
        assert process.returncode == 0, complaint
