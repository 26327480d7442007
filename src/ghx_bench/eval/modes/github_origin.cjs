// Loaded into a Node program before it starts: what it asks of api.github.com goes to GITHUB_API_URL instead.
// For servers that have GitHub's address built in, and unmodified.
const target = process.env.GITHUB_API_URL;
const origin = "https://api.github.com";
if (target && target !== origin) {
  const ask = globalThis.fetch;
  const led = (url) => (url === origin || url.startsWith(`${origin}/`) ? target + url.slice(origin.length) : url);
  globalThis.fetch = (asked, options) =>
    asked instanceof Request ? ask(new Request(led(asked.url), asked), options) : ask(led(String(asked)), options);
}
