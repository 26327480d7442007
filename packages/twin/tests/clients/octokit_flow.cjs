// The life of a pull request by @octokit/rest; prints what it saw as one line of JSON.
const { Octokit } = require("@octokit/rest");

const owner = { owner: "octo", repo: "from-octokit" };
const author = new Octokit({ auth: process.env.GH_TOKEN });
const reviewer = new Octokit({ auth: process.env.REVIEWER_TOKEN });

async function main() {
  await author.rest.repos.createForAuthenticatedUser({ name: owner.repo, auto_init: true });
  await author.rest.repos.addCollaborator({ ...owner, username: "hubot", permission: "push" });
  const { data: main } = await author.rest.git.getRef({ ...owner, ref: "heads/main" });
  await author.rest.git.createRef({ ...owner, ref: "refs/heads/work", sha: main.object.sha });
  const { data: written } = await author.rest.repos.createOrUpdateFileContents({
    ...owner,
    path: "docs/a file.md",
    message: "Add a file",
    content: Buffer.from("one\ntwo\n").toString("base64"),
    branch: "work",
  });
  const { data: pull } = await author.rest.pulls.create({ ...owner, title: "Work", head: "work", base: "main" });
  const { data: review } = await reviewer.rest.pulls.createReview({
    ...owner,
    pull_number: pull.number,
    event: "APPROVE",
    comments: [{ path: "docs/a file.md", line: 2, side: "RIGHT", body: "Two!" }],
  });
  const comments = await author.paginate(author.rest.pulls.listReviewComments, {
    ...owner,
    pull_number: pull.number,
    per_page: 1,
  });
  const { data: merged } = await author.rest.pulls.merge({ ...owner, pull_number: pull.number, merge_method: "squash" });
  const graph = await author.graphql(
    "query($owner: String!, $repo: String!, $number: Int!) " +
      "{ repository(owner: $owner, name: $repo) { pullRequest(number: $number) { state } } }",
    { ...owner, number: pull.number },
  );
  const missing = await author.rest.issues.get({ ...owner, issue_number: 99 }).catch((error) => error.status);
  console.log(
    JSON.stringify({
      path: written.content.path,
      number: pull.number,
      review: review.state,
      comments: comments.map((comment) => comment.body),
      merged: merged.merged,
      state: graph.repository.pullRequest.state,
      missing,
    }),
  );
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
