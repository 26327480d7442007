"""Recipes of agents: what can be written in one, what is refused, and what a session gets of it."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ghx_base.errors import DocumentError
from ghx_bench.checking.json_schemas import json_schema
from ghx_profiler.agents.drivers.recipe import RECIPES, VARIABLES, Recipe, built_in_recipe, load_recipe, recipe_names
from ghx_profiler.agents.drivers.recipe_settings import Settings
from ghx_profiler.agents.tools.toolset import McpServer

PLAIN: dict[str, Any] = {"name": "mine", "description": "my own", "command": ["mine", "acp"]}
VALUES = {name: f"<{name}>" for name in VARIABLES}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="$"))
JSON = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=10,
)


def refusal(tmp_path: Path, **changes: Any) -> str:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({**PLAIN, **changes}))
    with pytest.raises(DocumentError) as raised:
        load_recipe(file)
    return str(raised.value)


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_of_the_package_is_called_as_its_file_and_fits_the_schema(name: str) -> None:
    recipe = built_in_recipe(name)

    assert recipe.name == name
    assert recipe.install is not None
    jsonschema.validate(yaml.safe_load((RECIPES / f"{name}.yaml").read_text()), json_schema("agent"))


@pytest.mark.parametrize("name", recipe_names())
@pytest.mark.parametrize("shell", [True, False])
@pytest.mark.parametrize("web", [True, False])
def test_a_recipe_of_the_package_leaves_no_variable_unfilled(name: str, shell: bool, web: bool) -> None:
    settings = built_in_recipe(name).settings_for(shell=shell, web=web)

    assert settings is not None
    filled = settings.fill(VALUES)
    assert "${" not in filled.model_dump_json()
    for path, content in filled.files.items():
        {".json": json.loads, ".toml": tomllib.loads, ".yaml": yaml.safe_load}[Path(path).suffix](content)


def test_no_recipe_of_the_package_gives_a_session_a_real_key() -> None:
    for name in recipe_names():
        settings = built_in_recipe(name).settings_for(shell=True, web=True)
        assert settings is not None
        assert "<KEY>" in settings.fill(VALUES).model_dump_json()


def test_what_a_mode_takes_away_is_put_over_the_settings() -> None:
    recipe = Recipe.model_validate(
        {
            **PLAIN,
            "environment": {"CONFIG": {"deny": ["a"], "deep": {"kept": 1, "changed": 1}}},
            "without_web": {"environment": {"CONFIG": {"deny": ["web"]}}},
            "without_shell": {"environment": {"CONFIG": {"deny": ["shell"], "deep": {"changed": 2}}, "MORE": "1"}},
        }
    )

    both, neither = recipe.settings_for(shell=True, web=True), recipe.settings_for(shell=False, web=False)

    assert both is not None
    assert both.environment == {"CONFIG": {"deny": ["a"], "deep": {"kept": 1, "changed": 1}}}
    assert neither is not None
    config = {"deny": ["a", "web", "shell"], "deep": {"kept": 1, "changed": 2}}
    assert neither.environment == {"CONFIG": config, "MORE": "1"}


LOCAL = McpServer(command="server", args=("--now",), environment={"TOKEN": "${KEPT}"})
REMOTE = McpServer(url="http://127.0.0.1:9/mcp", headers={"Authorization": "Bearer x"})


@pytest.mark.parametrize(
    ("shape", "file", "expected"),
    [
        (
            "claude",
            "mcp.json",
            {
                "mcpServers": {
                    "near": {"type": "stdio", "command": "server", "args": ["--now"], "env": {"TOKEN": "${KEPT}"}},
                    "far": {"type": "http", "url": REMOTE.url, "headers": REMOTE.headers},
                }
            },
        ),
        (
            "codex",
            "config.toml",
            {
                "mcp_servers": {
                    "near": {
                        "command": "server",
                        "args": ["--now"],
                        "env": {"TOKEN": "${KEPT}"},
                        "startup_timeout_sec": 60,
                    },
                    "far": {"url": REMOTE.url, "http_headers": REMOTE.headers, "startup_timeout_sec": 60},
                }
            },
        ),
        (
            "opencode",
            "opencode.json",
            {
                "mcp": {
                    "near": {
                        "type": "local",
                        "command": ["server", "--now"],
                        "environment": {"TOKEN": "${KEPT}"},
                        "enabled": True,
                        "timeout": 60_000,
                    },
                    "far": {
                        "type": "remote",
                        "url": REMOTE.url,
                        "headers": REMOTE.headers,
                        "enabled": True,
                        "timeout": 60_000,
                    },
                }
            },
        ),
    ],
)
def test_servers_are_put_where_a_command_looks_for_them(shape: str, file: str, expected: dict[str, Any]) -> None:
    own = {"file": file, "shape": shape}
    recipe = Recipe.model_validate(
        {**PLAIN, "protocol": "command", "files": {file: {"model": "${MODEL}"}}, "mcp_servers": own}
    )
    settings = recipe.settings_for(shell=True, web=True)
    assert settings is not None

    filled = settings.fill(VALUES, over=recipe.settings_for_servers({"near": LOCAL, "far": REMOTE}))

    read = tomllib.loads if file.endswith(".toml") else json.loads
    assert read(filled.files[file]) == {"model": "<MODEL>", **expected}


def test_servers_may_be_put_into_a_variable() -> None:
    own = {"variable": "CONFIG", "shape": "opencode"}
    recipe = Recipe.model_validate(
        {**PLAIN, "protocol": "command", "mcp_servers": own, "environment": {"CONFIG": {"a": 1}}}
    )
    settings = recipe.settings_for(shell=True, web=True)
    assert settings is not None

    filled = settings.fill(VALUES, over=recipe.settings_for_servers({}))

    assert json.loads(filled.environment["CONFIG"]) == {"a": 1, "mcp": {}}


def test_some_models_get_other_settings_and_are_asked_by_another_api() -> None:
    recipe = Recipe.model_validate(
        {
            **PLAIN,
            "wire": "openai-chat",
            "environment": {"CONFIG": {"api": "chat", "kept": 1}},
            "for_models": [
                {"models": "^new-", "wire": "openai-responses", "environment": {"CONFIG": {"api": "responses"}}},
                {"models": "new", "files": {"a.json": {}}},
            ],
        }
    )

    assert recipe.wires == ("openai-chat", "openai-responses")
    assert recipe.with_model("old-1") is recipe
    first, second = recipe.with_model("new-1"), recipe.with_model("rather-new")
    assert (first.wire, first.environment) == ("openai-responses", {"CONFIG": {"api": "responses", "kept": 1}})
    assert (second.wire, second.environment, second.files) == ("openai-chat", recipe.environment, {"a.json": {}})


@pytest.mark.parametrize("name", ["goose", "opencode", "opencode-run", "qwen"])
def test_models_of_openai_that_refuse_max_tokens_are_asked_by_the_responses_api(name: str) -> None:
    recipe = built_in_recipe(name)

    newer = ("gpt-5", "gpt-5.5-mini", "openai/gpt-5", "gpt-6", "gpt-5.2-codex", "o4-mini")
    others = ("gpt-4.1", "gpt-4o", "gpt-oss-120b", "scripted-1", "qwen3-coder", "deepseek/o-model")
    assert {recipe.with_model(each).wire for each in newer} == {"openai-responses"}
    assert {recipe.with_model(each).wire for each in others} == {"openai-chat"}
    settings = recipe.with_model("gpt-5").settings_for(shell=False, web=False)
    assert settings is not None
    assert "${" not in settings.fill(VALUES).model_dump_json()


def test_an_agent_that_cannot_do_without_its_shell_has_no_settings_for_that() -> None:
    assert Recipe.model_validate(PLAIN).settings_for(shell=False, web=False) is None


@pytest.mark.slow
@given(st.dictionaries(TEXT, JSON))
def test_values_become_files_that_mean_the_same(values: dict[str, Any]) -> None:
    filled = Settings(files={"a.toml": values, "a.json": values}).fill({})

    assert tomllib.loads(filled.files["a.toml"]) == values
    assert json.loads(filled.files["a.json"]) == values


def test_null_is_left_out_of_toml_which_has_none() -> None:
    filled = Settings(files={"a.toml": {"none": None, "one": 1, "deep": {"none": None}}}).fill({})

    assert tomllib.loads(filled.files["a.toml"]) == {"one": 1, "deep": {}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"environment": {"A": "${MODLE}"}}, "nothing is called ${MODLE} in a recipe; did you mean 'MODEL'?"),
        ({"environment": {"A": "${BASE_URL}"}}, "there is none without `wire`"),
        ({"command": ["${PACKAGES}/x"]}, "there is none without `install`"),
        ({"files": {"../x": "y"}}, "files are written into the session's home only"),
        ({"files": {"/etc/x": "y"}}, "files are written into the session's home only"),
        ({"files": {"x.ini": {"a": 1}}}, "only files that end in .json, .toml or .yaml are written from values"),
        ({"strip": ["("]}, "is no regular expression"),
        ({"wire": "openai"}, "'openai-chat'"),
        ({"for_models": [{"models": "^gpt-5", "wire": "openai-responses"}]}, "and nothing says it for the others"),
        ({"for_models": [{"models": "("}]}, "is no regular expression"),
        ({"comand": ["x"]}, "unknown key"),
        ({"install": {"package": "x", "version": "^1.0.0"}}, "/install/version"),
        ({"permissions": ["allow_once", "allow_once"]}, "given twice"),
        ({"command": []}, "/command"),
        ({"command": ["mine", "${PROMPT}"]}, "there is none without `protocol: command`"),
        ({"protocol": "command", "environment": {"A": "${PROMPT}"}}, "${PROMPT} is known in `command` only"),
        ({"protocol": "command", "session_mode": "all"}, "means nothing with `protocol: command`"),
        ({"output": "text"}, "means nothing with `protocol: acp`"),
        ({"protocol": "command", "output": "xml"}, "'codex-jsonl'"),
        ({"protocol": "command", "mcp_servers": {"shape": "claude"}}, "needs a `file` or a `variable`"),
        ({"protocol": "command", "mcp_servers": {"shape": "claude", "file": "/x.json"}}, "session's home only"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said_with_its_place(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    places = refusal(tmp_path, **changes)

    assert words in places
    assert str(tmp_path / "mine.yaml") in places


@pytest.mark.parametrize(
    ("command", "placed"),
    [
        (["./run", "./a.py", "b"], ["{}/run", "{}/a.py", "b"]),
        (["bin/run"], ["{}/bin/run"]),
        (["python3", "../a.py"], ["python3", "{}/../a.py"]),
        (["/usr/bin/run"], ["/usr/bin/run"]),
    ],
)
def test_paths_of_a_command_are_taken_from_the_folder_of_the_recipe(
    tmp_path: Path, command: list[str], placed: list[str]
) -> None:
    recipe = Recipe.model_validate({**PLAIN, "command": command}).resolve_paths(tmp_path)

    assert list(recipe.command) == [os.path.normpath(word.format(tmp_path)) for word in placed]


def test_the_page_says_where_each_agent_gets_instructions_and_skills() -> None:
    page = (Path(__file__).parents[2] / "docs" / "real-agents.md").read_text(encoding="utf-8")
    table = page[page.index("| agent | instructions | skills |") :].split("\n\n")[0]
    places: dict[str, tuple[str, str]] = {}
    for line in table.splitlines()[2:]:
        agents, instructions, skills = (cell.strip() for cell in line.strip("|").split("|"))
        places |= {name.strip(" `"): (instructions, skills) for name in agents.split(",")}

    assert places == {
        name: (
            f"`{recipe.instructions_file}`" if recipe.instructions_file else "first paragraph of the prompt",
            f"`{recipe.skills_folder}`",
        )
        for name, recipe in ((name, built_in_recipe(name)) for name in recipe_names())
    }
