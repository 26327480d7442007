"""The manifest of fixtures: read, kept as it is, and written without ever leaving half of one."""

import json
import os
from pathlib import Path

import pytest

from ghx_base.errors import DocumentError, OperationError
from ghx_bench import FixtureManifest, FixtureResource, load_fixture_manifest, write_fixture_manifest

MANIFEST = FixtureManifest(
    seed_id="s",
    created_at="2026-02-27T21:13:31.000Z",
    repo="octo_corp/world",
    fixtures={"pr": FixtureResource(type="pr", number=7, repo="octo_corp/world", metadata={"originalSha": "abc"})},
)


def test_the_manifest_of_the_older_tools_round_trips(older_tools: Path) -> None:
    path = older_tools / "manifest.json"

    manifest = load_fixture_manifest(path)

    assert manifest.to_wire() == json.loads(path.read_text())
    resource = manifest.fixtures["pr_with_changes"]
    assert (resource.type, resource.labels) == ("pr", ("bench-fixture",))
    assert (resource.number, resource.branch) in {(35, "sample-changes"), (372, "bench-bugs-seed-default")}
    assert resource.metadata["originalSha"]


def test_what_others_add_is_kept(tmp_path: Path) -> None:
    value = MANIFEST.to_wire() | {"version": 2}
    value["fixtures"]["pr"]["url"] = "https://example.com"  # type: ignore[index]
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(value))

    assert load_fixture_manifest(path).to_wire() == value


def test_a_manifest_is_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet" / "there" / "latest.json"

    write_fixture_manifest(path, MANIFEST)

    assert load_fixture_manifest(path) == MANIFEST
    assert json.loads(path.read_text())["fixtures"]["pr"] == {
        "type": "pr",
        "number": 7,
        "repo": "octo_corp/world",
        "metadata": {"originalSha": "abc"},
    }
    assert [each.name for each in path.parent.iterdir()] == ["latest.json"]


def test_a_write_that_fails_leaves_the_old_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "latest.json"
    write_fixture_manifest(path, MANIFEST)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OperationError, match=r"latest\.json: the manifest cannot be written: No space left on device"):
        write_fixture_manifest(path, MANIFEST.model_copy(update={"seed_id": "other"}))

    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["latest.json"]


def test_a_manifest_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"latest\.json: there is no such file"):
        load_fixture_manifest(tmp_path / "latest.json")


def test_what_is_no_text_does_not_lose_the_manifest(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    resource = MANIFEST.fixtures["pr"].model_copy(update={"metadata": {"title": "half \ud83d of a pair"}})

    write_fixture_manifest(path, MANIFEST.model_copy(update={"fixtures": {"pr": resource}}))

    assert load_fixture_manifest(path).fixtures["pr"].metadata == {"title": "half \ufffd of a pair"}
    assert path.read_text().startswith('{\n  "seedId"')
