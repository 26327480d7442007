"""Commits over GraphQL: who wrote the lines of a file, and comments."""

from graphql_world import Town

from ghx_twin.commands.repositories import commit_comments


def test_blame_names_the_commit_of_each_line(town: Town) -> None:
    shas = [
        town.put("blame.txt", text, "main", f"Write {place}")
        for place, text in enumerate(("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nB\nc\nd\ne\n"))
    ]
    query = """query($sha: GitObjectID!) { repository(owner: "acme", name: "widgets") { object(oid: $sha) {
        ... on Commit { blame(path: "blame.txt") { ranges { startingLine endingLine age commit { oid } } } } } } }"""

    shown = town.ask(query, {"sha": shas[-1]}).data["repository"]["object"]["blame"]["ranges"]

    seen = [(one["startingLine"], one["endingLine"], shas.index(one["commit"]["oid"]), one["age"]) for one in shown]
    assert seen == [(1, 1, 0, 10), (2, 2, 1, 5), (3, 4, 0, 10), (5, 5, 2, 1)]
    missing = town.ask(query.replace("blame.txt", "none.txt"), {"sha": shas[-1]})
    assert missing.body["errors"][0]["type"] == "NOT_FOUND"


def test_comments_on_commits_are_shown_with_them(town: Town) -> None:
    with town.acting("ann") as act:
        made = commit_comments.create(
            act, town.repository, sha=town.tip(), body="**Nice**", path="README.md", position=1
        )
    fields = "id body bodyText path position author { login } viewerDidAuthor viewerCanUpdate url commit { oid }"
    query = f"""{{ repository(owner: "acme", name: "widgets") {{ commitComments(first: 5) {{ nodes {{ {fields} }} }}
        defaultBranchRef {{ target {{ ... on Commit {{ comments(first: 5) {{ totalCount }} }} }} }} }} }}"""

    shown = town.ask(query, by="ann").data["repository"]

    (comment,) = shown["commitComments"]["nodes"]
    assert (comment["body"], comment["bodyText"], comment["path"], comment["position"]) == (
        "**Nice**",
        "Nice",
        "README.md",
        1,
    )
    assert (comment["author"], comment["viewerDidAuthor"], comment["viewerCanUpdate"]) == ({"login": "ann"}, True, True)
    assert comment["url"] == f"https://github.com/acme/widgets/commit/{town.tip()}#commitcomment-{made.id}"
    assert comment["commit"] == {"oid": town.tip()}
    assert shown["defaultBranchRef"]["target"]["comments"] == {"totalCount": 1}
    found = town.ask("query($id: ID!) { node(id: $id) { __typename } }", {"id": comment["id"]})
    assert found.data["node"] == {"__typename": "CommitComment"}
