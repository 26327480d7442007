// Loaded into a Node program before it starts, for servers that have GitHub's address built in, and unmodified.

// What it asks of api.github.com goes to GITHUB_API_URL, where that is another GitHub.
const target = process.env.GITHUB_API_URL;
const origin = "https://api.github.com";
if (target && target !== origin) {
  const ask = globalThis.fetch;
  const led = (url) => (url === origin || url.startsWith(`${origin}/`) ? target + url.slice(origin.length) : url);
  globalThis.fetch = (asked, options) =>
    asked instanceof Request ? ask(new Request(led(asked.url), asked), options) : ask(led(String(asked)), options);
}

// Node goes by HTTPS_PROXY since 22.21 and 24.0, if asked to. For older ones, this is what `fetch` connects with.
const [major, minor] = process.versions.node.split(".").map(Number);
const proxy = process.env.NODE_USE_ENV_PROXY && process.env.HTTPS_PROXY;
if (proxy && (major < 22 || major === 23 || (major === 22 && minor < 21))) {
  const dispatcher = Symbol.for("undici.globalDispatcher.1");
  fetch("data:,").catch(() => {}); // loads the library that is behind it
  const connect = ({ protocol, hostname, port }, done) => {
    if (protocol !== "https:") {
      const plain = require("node:net").connect({ host: hostname, port: port || 80 });
      return plain.once("connect", () => done(null, plain)).once("error", done);
    }
    const asking = require("node:http").request(proxy, { method: "CONNECT", path: `${hostname}:${port || 443}` });
    asking.once("error", done).once("connect", (answer, socket) => {
      if (answer.statusCode !== 200) return done(new Error(answer.statusMessage));
      const options = { socket, servername: hostname, ALPNProtocols: ["http/1.1"] };
      const secured = require("node:tls").connect(options, () => done(null, secured)).once("error", done);
    });
    asking.end();
  };
  globalThis[dispatcher] = new globalThis[dispatcher].constructor({ connect });
}
