// What Octokit sees of one pull request and of all issues, as one line of JSON; it is not told where GitHub is.
const { Octokit } = require("@octokit/rest");

const octokit = new Octokit({ auth: process.env.GH_TOKEN });
const place = { owner: "octo", repo: "many" };

async function main() {
  const { data: pull } = await octokit.rest.pulls.get({ ...place, pull_number: 138 });
  const issues = await octokit.paginate(octokit.rest.issues.listForRepo, { ...place, state: "all", per_page: 50 });
  console.log(JSON.stringify({ pull, numbers: issues.map((issue) => issue.number) }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
