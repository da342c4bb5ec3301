import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { admin, advance, checkpoint, workflow } from "../localyun.js";

const DEFINITION = `
version: v1
type: flow
steps:
  - type: wait
    name: one-day
    duration: 86400
  - type: task
    name: remind
    resourceArn: acs:fc:::services/shop/functions/remind
`;

let restore;

before(async () => {
  await workflow("CreateFlow", { Name: "remind", Description: "", Type: "FDL", Definition: DEFINITION });
  restore = await checkpoint("node-example");
});

beforeEach(() => restore());

after(() => admin("DELETE", "checkpoints/node-example"));

test("a reminder goes out after a day", async () => {
  const mock = await admin("POST", "mocks", { function: "shop/remind", answers: [{ return: { sent: true } }] });
  const { Name } = await workflow("StartExecution", { FlowName: "remind", Input: '{"order": 7}' });

  await advance("23h");
  assert.equal((await admin("GET", `mocks/${mock.id}/calls`)).calls.length, 0);
  await advance("1h");

  assert.equal((await admin("GET", `mocks/${mock.id}/calls`)).calls.length, 1);
  const { Status } = await workflow("DescribeExecution", { FlowName: "remind", ExecutionName: Name });
  assert.equal(Status, "Succeeded");
});

test("no test sees another's executions", async () => {
  const { Executions } = await workflow("ListExecutions", { FlowName: "remind", Limit: 10 });
  assert.deepEqual(Executions, []);
});
