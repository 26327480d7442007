"""What the files of a repository tell about it."""

from typing import Any

from graphql_world import Town

from ghx_twin.commands import repositories
from ghx_twin.commands.repositories import contents
from ghx_twin.queries import lookup

FILES = {
    ".github/ISSUE_TEMPLATE/bug.md": "---\nname: Bug\nabout: It breaks\ntitle: '[bug]'\n---\n\nWhat happened?\n",
    ".github/ISSUE_TEMPLATE/plain.md": "no head\n",
    ".github/ISSUE_TEMPLATE/config.yml": (
        "blank_issues_enabled: false\n"
        "contact_links:\n  - {name: Forum, about: Ask, url: 'https://example.com'}\n  - 7\n"
    ),
    ".github/FUNDING.yml": "github: [octo, rev]\ncustom: https://example.com/give\nother: x\n",
    "PULL_REQUEST_TEMPLATE.md": "## Why\n",
    "CODE_OF_CONDUCT.md": "# Contributor Covenant\n",
    "docs/SECURITY.md": "Write to us\n",
    "LICENSE": "MIT License\n\nCopyright\n",
    "a.py": "print(1)\n",
    "b.go": "package main\n" * 5,
}


def _repository(town: Town, selection: str, name: str = "widgets") -> Any:
    query = 'query($name: String!) { repository(owner: "acme", name: $name) { ' + selection + " } }"
    return town.ask(query, {"name": name}).data["repository"]


def _filled(town: Town) -> None:
    for path, text in FILES.items():
        town.put(path, text, "main")


def test_templates_and_contacts_are_read_from_the_default_branch(town: Town) -> None:
    _filled(town)

    found = _repository(
        town,
        "issueTemplates { name about title body filename } pullRequestTemplates { filename body } "
        "contactLinks { name about url } isBlankIssuesEnabled fundingLinks { platform url }",
    )

    assert found == {
        "issueTemplates": [
            {"name": "Bug", "about": "It breaks", "title": "[bug]", "body": "What happened?\n", "filename": "bug.md"}
        ],
        "pullRequestTemplates": [{"filename": "PULL_REQUEST_TEMPLATE.md", "body": "## Why\n"}],
        "contactLinks": [{"name": "Forum", "about": "Ask", "url": "https://example.com"}],
        "isBlankIssuesEnabled": False,
        "fundingLinks": [
            {"platform": "GITHUB", "url": "https://github.com/octo"},
            {"platform": "GITHUB", "url": "https://github.com/rev"},
            {"platform": "CUSTOM", "url": "https://example.com/give"},
        ],
    }


def test_licence_languages_and_policies_are_told(town: Town) -> None:
    _filled(town)

    found = _repository(
        town,
        "licenseInfo { key name nickname spdxId } codeOfConduct { key name url } "
        "isSecurityPolicyEnabled securityPolicyUrl "
        "primaryLanguage { name } languages(first: 5, orderBy: {field: SIZE, direction: DESC}) "
        "{ totalSize edges { size node { name } } } diskUsage",
    )

    assert found == {
        "licenseInfo": {"key": "mit", "name": "MIT License", "nickname": None, "spdxId": "MIT"},
        "codeOfConduct": {
            "key": "contributor_covenant",
            "name": "Contributor Covenant",
            "url": "https://github.com/acme/widgets/blob/main/CODE_OF_CONDUCT.md",
        },
        "isSecurityPolicyEnabled": True,
        "securityPolicyUrl": "https://github.com/acme/widgets/security/policy",
        "primaryLanguage": {"name": "Go"},
        "languages": {
            "totalSize": 74,
            "edges": [{"size": 65, "node": {"name": "Go"}}, {"size": 9, "node": {"name": "Python"}}],
        },
        "diskUsage": found["diskUsage"],
    }
    assert found["diskUsage"] > 0


def test_a_repository_without_such_files_says_so(town: Town) -> None:
    selection = (
        "issueTemplates { name } pullRequestTemplates { body } contactLinks { url } fundingLinks { url } "
        "licenseInfo { key } codeOfConduct { key } isBlankIssuesEnabled isSecurityPolicyEnabled securityPolicyUrl "
        "primaryLanguage { name } languages(first: 5) { totalCount } templateRepository { name } archivedAt "
        "isUserConfigurationRepository viewerSubscription"
    )
    with town.acting(None) as act:
        repositories.create(act, owner=town.people["acme"], name="bare")

    empty = {
        "issueTemplates": [],
        "pullRequestTemplates": [],
        "contactLinks": [],
        "fundingLinks": [],
        "licenseInfo": None,
        "codeOfConduct": None,
        "isBlankIssuesEnabled": True,
        "isSecurityPolicyEnabled": False,
        "securityPolicyUrl": None,
        "primaryLanguage": None,
        "languages": {"totalCount": 0},
        "templateRepository": None,
        "archivedAt": None,
        "isUserConfigurationRepository": False,
        "viewerSubscription": "UNSUBSCRIBED",
    }
    assert _repository(town, selection, "other") == empty
    assert _repository(town, selection, "bare") == empty


def test_files_that_are_no_yaml_are_as_if_they_were_not_there(town: Town) -> None:
    town.put(".github/FUNDING.yml", "github: [\n", "main")
    town.put(".github/ISSUE_TEMPLATE/config.yml", "- just\n- a list\n", "main")
    town.put(".github/ISSUE_TEMPLATE/odd.md", "---\nname: [\n---\nx", "main")

    found = _repository(town, "fundingLinks { url } contactLinks { url } isBlankIssuesEnabled issueTemplates { name }")

    assert found == {"fundingLinks": [], "contactLinks": [], "isBlankIssuesEnabled": True, "issueTemplates": []}


def test_an_archived_repository_tells_since_when(town: Town) -> None:
    other = lookup.repository(town.world, None, "acme", "other")
    with town.acting() as act:
        contents.put(act, other, path="x", content=b"x", message="x")
        archived = repositories.update(act, other, archived=True)

    assert _repository(town, "isArchived archivedAt", "other") == {
        "isArchived": True,
        "archivedAt": archived.updated_at,
    }
