// Loaded before the MCP server, which knows no other origin than api.github.com: sends its requests to the twin.
const original = globalThis.fetch;
globalThis.fetch = (target, options) =>
  original(String(target).replace("https://api.github.com", process.env.GITHUB_API_URL), options);
