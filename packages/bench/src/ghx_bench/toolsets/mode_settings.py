"""What a mode gives its agents beside programs and servers: skills, a shell, the web, variables."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from ghx_base.wire import WireModel
from ghx_bench.modes.skills import read_skill
from ghx_bench.toolsets.sizes import Ruler, Size, total
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.evidence import Mode
from ghx_profiler.store.provenance import digest_file

_OF_THE_BENCH = frozenset({"PATH"})
"""Variables that lead to a folder of this very mode, so that no two modes have the same."""


class SkillSurface(WireModel):
    """What a skill costs: a part from the start, the rest once an agent reads it."""

    name: str
    told: Size
    """Its name and description, which agents load up front."""
    body: Size
    """The rest of its SKILL.md."""
    other_files: Size
    """What else is in its folder, all files together; an agent reads what it needs of them."""
    digest: str
    """Of all files, to be compared with that of another version."""
    told_text: str = Field(default="", exclude=True)
    body_text: str = Field(default="", exclude=True)


class ModeSettings(WireModel):
    """What a mode allows, and the variables that it sets."""

    shell: bool = True
    web: bool = False
    variables: tuple[str, ...] = ()
    """The names of its environment variables."""
    values: dict[str, str] = Field(default={}, exclude=True)
    """What these are set to; compared and never written, since secrets are among them."""

    @classmethod
    def of(cls, mode: Mode) -> "ModeSettings":
        """Return the settings of a mode."""
        tools = ToolSet.of(mode)
        values = {name: value for name, value in mode.environment.items() if name not in _OF_THE_BENCH}
        return cls(shell=tools.shell, web=tools.web, variables=tuple(sorted(values)), values=values)


class SettingChange(WireModel):
    """A setting that is another one, before and after in words."""

    name: str
    before: str
    after: str


def compare_settings(before: ModeSettings, after: ModeSettings) -> Iterator[SettingChange]:
    """Yield the settings that differ; of a variable, whether it is set or set to something else, never the value."""
    for name, old, new in (("shell", before.shell, after.shell), ("web", before.web, after.web)):
        if old != new:
            yield SettingChange(name=name, before="yes" if old else "no", after="yes" if new else "no")
    for name in sorted({*before.variables, *after.variables}):
        old, new = before.values.get(name), after.values.get(name)
        if old != new:
            are_both = old is not None and new is not None
            yield SettingChange(
                name=f"variable {name}",
                before="not set" if old is None else "set",
                after="set to something else" if are_both else "not set" if new is None else "set",
            )


def measure_skills(mode: Mode, ruler: Ruler) -> tuple[SkillSurface, ...]:
    """Measure the skills that a mode brings."""
    return tuple(_measure_skill(Path(folder), ruler) for folder in ToolSet.of(mode).skills.values())


def _measure_skill(folder: Path, ruler: Ruler) -> SkillSurface:
    skill = read_skill(folder)
    description = f"{skill.name}: {skill.description}"
    others = (each for each in sorted(folder.rglob("*")) if each.is_file() and each != folder / "SKILL.md")
    return SkillSurface(
        name=skill.name,
        told=ruler.measure(description),
        body=ruler.measure(skill.body),
        other_files=total(ruler.measure(each.read_bytes().decode(errors="replace")) for each in others),
        digest=digest_file(folder),
        told_text=description,
        body_text=skill.body,
    )
