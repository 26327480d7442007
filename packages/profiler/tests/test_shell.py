"""Shell text is read down to the commands it runs, and these get names."""

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell import Command, SubcommandResolver, Subcommands, names_of, parse_shell, resolve_command


def commands(text: str) -> list[str]:
    return [" ".join(command.words) for command in parse_shell(text).commands]


SIMPLE = {
    "gh pr view 7": ["gh pr view 7"],
    "  gh   pr\tview 7  ": ["gh pr view 7"],
    "gh pr view 7 # and comments": ["gh pr view 7"],
    "GH_TOKEN=x LANG=C gh pr view 7": ["gh pr view 7"],
    "gh pr view 7 > out.txt 2>&1": ["gh pr view 7"],
    "< in.txt wc -l": ["wc -l"],
    "gh pr list && \\\n  gh issue list": ["gh pr list", "gh issue list"],
    "gh issue create -t 'a; b && c | d'": ["gh issue create -t a; b && c | d"],
    'gh issue create -t "say \\"hi\\" to $USER"': ['gh issue create -t say "hi" to $USER'],
    "echo a\\ b \"c\"'d'e $'f\\tg'": ["echo a b cde f\tg"],
    '"gh" pr view': ["gh pr view"],
    "! grep foo x": ["grep foo x"],
    "echo {é,ü} größer": ["echo {é,ü} größer"],
    "/usr/local/bin/gh pr view": ["/usr/local/bin/gh pr view"],
    "X=1": [],
    "": [],
    "# only a comment": [],
    "export A=1 B=$(hostname)": ["hostname"],
    "[[ -f x ]]": [],
}

LISTS = {
    "cd app && gh pr view": ["cd app", "gh pr view"],
    "gh pr view || true": ["gh pr view", "true"],
    "git add . && git commit -m x && git push": ["git add .", "git commit -m x", "git push"],
    "git fetch; git status; ls": ["git fetch", "git status", "ls"],
    "git fetch\ngit status\n": ["git fetch", "git status"],
    "sleep 5 & wait": ["sleep 5", "wait"],
    "gh api x | jq .a | head -3": ["gh api x", "jq .a", "head -3"],
    "gh api x |& tee log": ["gh api x", "tee log"],
    "(cd a && git push)": ["cd a", "git push"],
    "{ ls; pwd; }": ["ls", "pwd"],
    "cd a && (git pull || git fetch) && make": ["cd a", "git pull", "git fetch", "make"],
}

COMPOUND = {
    "for n in 1 2 3; do gh api issues/$n; done": ["gh api issues/$n"],
    "for ((i=0; i<3; i++)); do echo $i; done": ["echo $i"],
    "while read -r l; do gh api $l; done < list": ["read -r l", "gh api $l"],
    "until gh run view 1; do sleep 1; done": ["gh run view 1", "sleep 1"],
    "gh pr list | while read x; do gh pr close $x; done": ["gh pr list", "read x", "gh pr close $x"],
    "if gh auth status; then gh pr list; else echo no; fi": ["gh auth status", "gh pr list", "echo no"],
    "if [ -f x ]; then cat x; elif test -d x; then ls x; fi": ["cat x", "test -d x", "ls x"],
    "case $1 in a) ls;; b) pwd;; esac": ["ls", "pwd"],
    "f() { gh pr list; }; f": ["gh pr list"],
    "function f { gh pr list; }\nf\nf": ["gh pr list", "gh pr list"],
    "f() { gh pr list; }": [],
    "f() { g; }; g() { ls; }; f": ["ls"],
    "f() { echo x; f; }; f": ["echo x", "f"],
}

SUBSTITUTIONS = {
    "echo $(git rev-parse HEAD)": ["git rev-parse HEAD", "echo $(git rev-parse HEAD)"],
    "echo `date`": ["date", "echo `date`"],
    "x=$(gh api user)": ["gh api user"],
    'gh pr comment 1 -b "at $(date) by $(whoami)"': ["date", "whoami", "gh pr comment 1 -b at $(date) by $(whoami)"],
    "diff <(gh a) <(gh b)": ["gh a", "gh b", "diff <(gh a) <(gh b)"],
    "echo $((1 + $(wc -l < f)))": ["wc -l", "echo $((1 + $(wc -l < f)))"],
    "echo $(echo $(pwd))": ["pwd", "echo $(pwd)", "echo $(echo $(pwd))"],
    "echo '$(date)'": ["echo $(date)"],
}

HEREDOCS = {
    'ghx run a.b --input - <<\'EOF\'\n{"a": "gh pr list"}\nEOF': ["ghx run a.b --input -"],
    "cat <<EOF > f && git add f\nbody; rm -rf x\nEOF\ngit push": ["cat", "git add f", "git push"],
    "cat <<EOF | gh api --input -\n$(date)\nEOF": ["date", "cat", "gh api --input -"],
    "cat <<-EOF\n\tx\n\tEOF\nls": ["cat", "ls"],
    "bash <<'EOF'\ncd x\ngh pr view\nEOF": ["cd x", "gh pr view"],
    "sh -s <<< 'gh pr view 3'": ["gh pr view 3"],
    'jq . <<< "$X"': ["jq ."],
}

WRAPPERS = {
    "sudo gh pr view": ["gh pr view"],
    "sudo -u bob -E gh pr view": ["gh pr view"],
    "env A=1 B=2 gh pr view": ["gh pr view"],
    "env -i -u X gh pr view": ["gh pr view"],
    "env": ["env"],
    "time gh pr view": ["gh pr view"],
    "timeout 30 gh pr view": ["gh pr view"],
    "timeout -k 5 --signal=KILL 30s gh pr view": ["gh pr view"],
    "nohup gh run watch 5 &": ["gh run watch 5"],
    "nice -n 10 make -j4": ["make -j4"],
    "stdbuf -oL make": ["make"],
    "exec gh pr view": ["gh pr view"],
    "command gh pr view": ["gh pr view"],
    "command -v gh": ["command -v gh"],
    "sudo env A=1 timeout 5 nohup gh x": ["gh x"],
    'bash -c "cd x && gh pr view 1"': ["cd x", "gh pr view 1"],
    "bash -lc 'gh pr view'": ["gh pr view"],
    "bash -euo pipefail -c 'gh pr view'": ["gh pr view"],
    "sh -c 'bash -c \"gh pr view\"'": ["gh pr view"],
    "bash script.sh": ["bash script.sh"],
    'eval "gh pr view $N"': ["gh pr view $N"],
    "gh pr list -q x | xargs -n 1 gh pr close": ["gh pr list -q x", "gh pr close"],
    "cat l | xargs -0 -I {} -P 4 gh api {} --jq .x": ["cat l", "gh api {} --jq .x"],
    "cat l | xargs -I{} sh -c 'gh api {} && sleep 1'": ["cat l", "gh api {}", "sleep 1"],
    "ls | xargs": ["ls", "xargs"],
    "find . -name '*.py' -exec grep -l x {} \\; -exec wc -l {} +": [
        "find . -name *.py -exec grep -l x {} ; -exec wc -l {} +",
        "grep -l x {}",
        "wc -l {}",
    ],
    "watch -n 5 'gh run view 1 | head'": ["gh run view 1", "head"],
    "bash -c -- 'gh pr view'": ["gh pr view"],
    "bash -c -x 'gh pr view' -- 7": ["gh pr view"],
    "bash -- script.sh": ["bash -- script.sh"],
    "bash -c": ["bash -c"],
    "busybox sh -c 'gh pr view'": ["gh pr view"],
    "parallel gh pr view ::: 1 2 3": ["gh pr view"],
    "seq 3 | parallel -j 4 'gh pr view {} | head -1'": ["seq 3", "gh pr view {}", "head -1"],
    "parallel ::: 'gh pr view 1' 'git fetch'": ["gh pr view 1", "git fetch"],
    "su -c 'gh pr view' bob": ["gh pr view"],
    "su - bob -c 'cd x && gh pr view'": ["cd x", "gh pr view"],
    "su --command='gh pr view' bob": ["gh pr view"],
    "su bob": ["su bob"],
    "script -qec 'gh pr view' /dev/null": ["gh pr view"],
    "uvx --from ghx-bench ghx@latest run pr.view": ["ghx run pr.view"],
    "uvx": ["uvx"],
}

BROKEN = {
    "gh api 'unterminated": ["gh api"],
    "gh pr view |": ["gh pr view"],
    "cd x &&": ["cd x"],
    "if gh x; then": ["gh x"],
    "gh pr view )": ["gh pr view"],
}

TEXTS = SIMPLE | LISTS | COMPOUND | SUBSTITUTIONS | HEREDOCS | WRAPPERS | BROKEN


@pytest.mark.parametrize(("text", "expected"), TEXTS.items(), ids=TEXTS)
def test_shell_text_is_read_down_to_its_commands(text: str, expected: list[str]) -> None:
    assert commands(text) == expected


def test_a_command_knows_whether_it_reads_from_a_pipe_and_whether_it_only_makes_words() -> None:
    script = parse_shell("gh api $(cat path) | jq . && ls")

    assert [(each.program, each.piped, each.nested) for each in script.commands] == [
        ("cat", False, True),
        ("gh", False, False),
        ("jq", True, False),
        ("ls", False, False),
    ]


@pytest.mark.parametrize(
    ("text", "has_fallback", "has_loop"),
    [
        ("a && b; c", False, False),
        ("a || b", True, False),
        ("cat <<EOF || b\nx\nEOF", True, False),
        ("for x in y; do a; done", False, True),
        ("a | xargs b", False, True),
    ],
)
def test_a_script_knows_whether_it_has_fallbacks_and_loops(text: str, has_fallback: bool, has_loop: bool) -> None:
    script = parse_shell(text)

    assert (script.has_fallback, script.has_loop, script.is_whole) == (has_fallback, has_loop, True)


@given(
    st.text(alphabet=st.characters(codec=None), max_size=200) | st.text("(){}[]$`'\"<>|&;=!#\\\n\0 aEOF", max_size=200)
)
def test_no_text_raises(text: str) -> None:
    assert all(command.words for command in parse_shell(text).commands)


words = st.text(string.ascii_lowercase, min_size=1, max_size=8).map(lambda word: f"x{word}")
simple = st.lists(words, min_size=1, max_size=4).map(" ".join)
separators = st.sampled_from([" && ", " || ", "; ", " | ", "\n", " &\n"])


@given(st.lists(simple, min_size=1, max_size=6), separators)
def test_commands_come_in_the_order_in_which_they_are_written(written: list[str], separator: str) -> None:
    assert commands(separator.join(written)) == written


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20), max_size=4))
def test_quoted_words_are_read_as_they_were_before_they_were_quoted(arguments: list[str]) -> None:
    quoted = ["'" + argument.replace("'", "'\\''") + "'" for argument in arguments]

    (command,) = parse_shell(" ".join(["gh", *quoted])).commands

    assert command.arguments == tuple(arguments)


HOSTILE = [
    "(",
    "$(",
    "`",
    '"',
    "a|",
    "a=(",
    "<<A ",
    "${",
    "\0",
    ")",
    "&&+",
    "f()",
    "if ",
    "{",
    "x",
    "`</",
    "case x in ",
    "'",
    ";;",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_of_any_length_is_read_in_part_and_in_no_time(unit: str) -> None:
    script = parse_shell("gh pr view\n" + unit * 100_000)

    assert script.commands[0].words == ("gh", "pr", "view")
    assert not script.is_whole


def test_functions_that_multiply_each_other_end_at_a_bound() -> None:
    doubling = "; ".join(f"f{n}() {{ f{n + 1}; f{n + 1}; f{n + 1}; f{n + 1}; }}" for n in range(6))
    script = parse_shell(f"{doubling}; f6() {{ ls; ls; }}; f0")

    assert 0 < len(script.commands) <= 200
    assert not script.is_whole


def test_commands_behind_a_long_here_document_are_still_seen() -> None:
    body = "const x = { a: [1, 2], f() { return `${a}` } };\n" * 2_000

    assert commands(f"cat > a.js <<'EOF'\n{body}EOF\ngit add a.js && git commit -m x") == [
        "cat",
        "git add a.js",
        "git commit -m x",
    ]


def test_commands_behind_a_long_quotation_are_still_seen() -> None:
    body = '{"a": [1, 2, {"b": "c"}], "d": "$(e)|f"} ' * 1_000

    assert [name.split()[0] for name in commands(f"curl -d '{body}' x && git push")] == ["curl", "git"]


def named(text: str, **more: Any) -> str:
    (command,) = parse_shell(text).commands
    return SubcommandResolver(**more)(command)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gh api graphql -f query=x", "gh api"),
        ("gh api repos/o/r/pulls", "gh api"),
        ("gh pr view 7 --json title", "gh pr view"),
        ("gh -R o/r pr view 7", "gh pr view"),
        ("gh --repo o/r issue list", "gh issue list"),
        ("gh run view 12", "gh run view"),
        ("gh workflow run ci.yml", "gh workflow run"),
        ("gh label create bug", "gh label create"),
        ("gh --version", "gh"),
        ("git push origin main", "git push"),
        ("git -C repo -c a=b commit -m x", "git commit"),
        ("git --no-pager log", "git log"),
        ("npm run build", "npm run"),
        ("docker compose up", "docker compose"),
        ("cat status", "cat"),
        ("ls build", "ls"),
        ("python3 -m pytest", "python3"),
        ("./deploy.sh staging", "deploy.sh"),
        ("mytool widgets list --all", "mytool widgets list"),
        ("mytool widgets", "mytool"),
        ("$CMD x", "$CMD"),
    ],
)
def test_commands_are_named_by_program_and_subcommands(text: str, name: str) -> None:
    assert named(text) == name


def test_a_table_says_how_many_words_are_subcommands() -> None:
    table = {"mytool": Subcommands(words=2, options_with_value=frozenset({"--profile"}))}

    assert named("mytool --profile prod widgets polish it", programs=table) == "mytool widgets polish"
    assert named("git push origin", programs=table) == "git push"


def bash(text: Any, tool: str = "bash") -> ToolCallEvent:
    return ToolCallEvent(name=tool, input=text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cd app && gh pr view", ("gh pr view",)),
        ("gh api x | jq -r .a | head", ("gh api",)),
        ("echo hello | gh pr comment 1 -F -", ("gh pr comment",)),
        ('gh pr comment 1 -b "$(cat f) $(date)"', ("gh pr comment",)),
        ("gh pr checkout $(gh pr list -q x)", ("gh pr list", "gh pr checkout")),
        ("git add . && git commit -m x && git push", ("git add", "git commit", "git push")),
        ("cat a.md | head -5", ("cat",)),
        ("cd app", ("cd",)),
        ("echo hi", ("echo",)),
        ("X=1", ("bash",)),
        ("", ("bash",)),
    ],
)
def test_a_shell_call_is_named_by_the_commands_that_matter(text: str, names: tuple[str, ...]) -> None:
    assert names_of(bash({"command": text})) == names


@pytest.mark.parametrize(
    "call",
    [
        bash({"command": "git push"}),
        bash({"cmd": "git push"}, "exec_command"),
        bash({"command": ["bash", "-lc", "cd x && git push"]}, "shell"),
        bash({"command": "git push", "description": "Pushes"}, "Bash"),
        bash({"command": "git push"}, "run_shell_command"),
        bash({"command": "git push"}, "runInTerminal"),
        bash("git push", "mcp__local__shell"),
    ],
    ids=lambda call: call.name,
)
def test_shell_tools_of_all_agents_are_known(call: ToolCallEvent) -> None:
    assert names_of(call) == ("git push",)


@pytest.mark.parametrize(
    "call", [bash({"command": "start"}, "deploy"), bash({"path": "x"}, "bash"), bash(None), bash([])]
)
def test_any_other_tool_has_its_own_name(call: ToolCallEvent) -> None:
    assert names_of(call) == (call.name,)


def test_a_consumer_may_bring_names_of_its_own() -> None:
    def resolve(command: Command) -> str:
        if command.program == "ghx" and command.arguments[:1] == ("run",):
            return f"ghx:{command.arguments[1]}"
        return resolve_command(command)

    call = bash({"command": "cd x && ghx run pr.threads.list --input - <<'EOF'\n{}\nEOF\ngit push"})

    assert names_of(call, resolve) == ("ghx:pr.threads.list", "git push")
