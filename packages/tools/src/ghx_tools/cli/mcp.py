"""`ghx mcp`: serve the capabilities as tools."""

import os
from collections.abc import Sequence

from ghx_tools.cli.argument_parser import Parser
from ghx_tools.mcp.toolsets import TOOLSETS, select

_PURPOSE = f"""\
Serve the capabilities as tools over the Model Context Protocol, on standard input and output or,
with --http, as streamable HTTP at http://127.0.0.1:PORT/mcp, for clients that send the token in
GHX_MCP_TOKEN, or the one that is printed (Authorization: Bearer TOKEN). A capability such as
pr.threads.list is the tool pr_threads_list; `chain` calls several in one go.

Toolsets: {", ".join(TOOLSETS)}."""

_PORTS = 65536


def main(arguments: Sequence[str]) -> int:
    """Serve until the client goes, or until interrupted."""
    parser = Parser("ghx mcp", _PURPOSE)
    parser.add_argument("--http", type=int, metavar="PORT", help="serve over HTTP on this port; 0 for any free one")
    parser.add_argument("--toolsets", metavar="A,B", help="offer only these toolsets")
    parser.add_switch("--read-only", "offer only tools that change nothing")
    options = parser.read(arguments)
    names = [name.strip() for name in (options.toolsets or "").split(",") if name.strip()]
    if options.toolsets is not None and not names:
        parser.error(f"--toolsets: name some of {', '.join(TOOLSETS)}, or leave it out to offer all")
    if options.http is not None and options.http not in range(_PORTS):
        parser.error(f"--http: {options.http} is no port; name one from 0 to {_PORTS - 1}, 0 for any free one")
    selection = select(names, read_only=options.read_only)
    if options.http is None:
        from ghx_tools.mcp.stdio_server import serve_stdio

        serve_stdio(selection, os.environ)
    else:
        import anyio

        from ghx_tools.mcp.http_server import serve_http

        anyio.run(serve_http, selection, os.environ, options.http)
    return 0
