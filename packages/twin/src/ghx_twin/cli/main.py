"""Where `ghx-twin` starts: its list of commands."""

from ghx_base.commandline import command_line, entry_point

app = command_line("ghx-twin", "An embedded, GitHub-compatible server with private worlds for tests and agents.")
app.command("ghx_twin.cli.serve:serve", name="serve", help="Serve a world on loopback until stopped.")
app.command("ghx_twin.cli.execute:execute", name="exec", help="Run a command in a world of its own.")
app.command(
    "ghx_twin.cli.check:check",
    name="check",
    help="Say what is wrong with a seed.",
)
app.command("ghx_twin.cli.export:export", name="export", help="Write the world of a data directory as a seed.")
app.command(
    "ghx_twin.cli.import_repository:import_",
    name="import",
    help="Write a repository of any GitHub as a seed.",
)
app.command("ghx_twin.cli.schema:schema", name="schema", help="Print the JSON Schema of a seed, for editors.")

main = entry_point(app)

if __name__ == "__main__":
    main(None)
