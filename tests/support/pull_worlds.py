"""A world with a repository, people of every role and branches to make pull requests of."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ghx_twin.commands import kernel, repositories, users
from ghx_twin.commands.pulls import pulls
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.git.repository import RefUpdate, TreeChange
from ghx_twin.queries import lookup
from ghx_twin.state.records import Event, Issue, Pull, Repository, User
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World

LINES = "".join(f"line {number}\n" for number in range(1, 31))


@dataclass
class Shop:
    """The world under test: `acme/widgets` with `poem.txt` (30 lines) on main."""

    world: World
    people: dict[str, User] = field(default_factory=dict)

    @property
    def repository(self) -> Repository:
        return lookup.repository(self.world, None, "acme", "widgets")

    @contextmanager
    def acting(self, login: str | None = "ann") -> Generator[Act]:
        viewer = None if login is None else Viewer(user=self.people[login])
        with self.world.acting(viewer) as act:
            yield act

    def write(
        self,
        branch: str,
        files: dict[str, str | None],
        message: str = "Change",
        *,
        repository: Repository | None = None,
    ) -> str:
        """Commit files to a branch (made from main where it is not there), as a push by git would."""
        home = repository or self.repository
        with self.acting(None) as act:
            git = act.git(home)
            old = git.ref(f"refs/heads/{branch}")
            start = old or git.ref(f"refs/heads/{home.default_branch}")
            sha = self.commit(act, home, start, files, message)
            git.set_ref(f"refs/heads/{branch}", sha)
            refs.record_push(act, home, [RefUpdate(f"refs/heads/{branch}", old, sha)])
        return sha

    def commit(
        self, act: Act, home: Repository, start: str | None, files: dict[str, str | None], message: str = "Change"
    ) -> str:
        git = act.git(home)
        changes = [
            TreeChange(path=path, sha=None if text is None else git.write_blob(text.encode()))
            for path, text in files.items()
        ]
        ann = self.people["ann"]
        own = kernel.user_signature(ann, act.now)
        return git.write_commit(
            tree=git.write_tree(start, changes),
            parents=(start,) if start else (),
            message=message,
            author=own,
            committer=own,
        )

    def branch(self, name: str, sha: str | None = None) -> str:
        target = sha or self.tip("main")
        with self.acting(None) as act:
            refs.create(act, self.repository, ref=f"refs/heads/{name}", sha=target)
        return target

    def tip(self, branch: str, repository: Repository | None = None) -> str:
        found = self.world.git(repository or self.repository).ref(f"refs/heads/{branch}")
        assert found is not None
        return found

    def ref(self, name: str) -> str | None:
        return self.world.git(self.repository).ref(name)

    def open(
        self, head: str = "feature", base: str = "main", *, by: str = "ann", title: str = "A title", **more
    ) -> Pull:
        """Open a pull request; the branch is made where it is not there."""
        if ":" not in head and self.ref(f"refs/heads/{head}") is None:
            self.write(
                head, {"poem.txt": LINES.replace("line 15\n", f"line 15 of {head}\nand another\n")}, f"Edit {head}"
            )
        with self.acting(by) as act:
            return pulls.create(act, self.repository, title=title, head=head, base=base, **more)

    def fresh(self, pull: Pull) -> Pull:
        found = self.world.database.get(Pull, pull.id)
        assert found is not None
        return found

    def issue(self, pull: Pull) -> Issue:
        return lookup.issue_of(self.world, pull)

    def events(self, pull: Pull | Issue) -> list[str]:
        identity = pull.issue_id if isinstance(pull, Pull) else pull.id
        return [event.event for event in self.world.database.all(Event, issue_id=identity)]

    def text(self, path: str, branch: str = "main") -> str | None:
        git = self.world.git(self.repository)
        entry = git.entry(self.tip(branch), path)
        return None if entry is None else (git.blob(entry.sha) or b"").decode()

    def setting(self, **changes) -> None:
        with self.acting(None) as act:
            act.database.update(self.repository, **changes)

    def protect(self, pattern: str = "main", **rules) -> None:
        with self.acting(None) as act:
            repositories.protect(act, self.repository, pattern=pattern, **rules)


def make_shop() -> Shop:
    """Build the world: acme owns it; ann, bob write, tri triages, rea only reads, adm administrates."""
    shop = Shop(World.create())
    with shop.acting(None) as act:
        acme = users.create_organization(act, login="acme")
        for login in ("ann", "bob", "tri", "rea", "adm"):
            shop.people[login] = users.create_user(act, login=login, name=login.capitalize())
        users.add_member(act, acme, shop.people["adm"], "admin")
        repository = repositories.create(act, owner=acme, name="widgets")
        for login, role in (("ann", "write"), ("bob", "write"), ("tri", "triage")):
            repositories.add_collaborator(act, repository, shop.people[login], role)
        contents.put(act, repository, path="poem.txt", content=LINES.encode(), message="Begin")
    return shop
