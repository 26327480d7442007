// Fifty comments by Octokit with the plugins that its users have: throttling and retry; prints how many it thinks it made.
const { Octokit } = require("@octokit/core");
const { retry } = require("@octokit/plugin-retry");
const { throttling } = require("@octokit/plugin-throttling");
const Bottleneck = require("bottleneck/light.js");

// The pauses between writes and before each further try are left out, what is tried again is not.
const atOnce = () => new Bottleneck.Group({ id: "at-once", maxConcurrent: 1 });
const octokit = new (Octokit.plugin(retry, throttling))({
  auth: process.env.GH_TOKEN,
  retry: { retryAfterBaseValue: 1 },
  throttle: {
    write: atOnce(),
    notifications: atOnce(),
    retryAfterBaseValue: 1,
    onRateLimit: () => true,
    onSecondaryRateLimit: () => true,
  },
});

async function main() {
  let made = 0;
  for (let number = 1; number <= 50; number++) {
    await octokit.request("POST /repos/{owner}/{repo}/issues/{issue_number}/comments", {
      owner: "acme",
      repo: "widgets",
      issue_number: 1,
      body: `Comment ${number}`,
    });
    made++;
  }
  console.log(made);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
