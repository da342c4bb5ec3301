'use strict';

/*
 * A state machine through the official Node.js SDK at the cloud's own addresses: created, started, its token reported,
 * described, its history read. Prints one JSON object. The packages are found through NODE_PATH or node_modules.
 */

const { ACCOUNT_ID, REGION, AK_ID, AK_SECRET } = process.env;
const key = { accessKeyId: AK_ID, accessKeySecret: AK_SECRET };
const unwrapped = (module) => module.default || module;
const Flows = unwrapped(require('@alicloud/fnf-2019-03-15'));
const Queues = unwrapped(require('@alicloud/mns'));

const FLOW = 'node-approval';
const QUEUE = 'node-approvals';
const definition = (name) => `
Type: StateMachine
Name: ${name}
SpecVersion: v1
StartAt: ask
States:
  - Type: Task
    Name: ask
    Action: MNS:SendMessage
    TaskMode: WaitForCustomCallback
    Timeout: 60
    Parameters:
      resourceArn: acs:mns:::/queues/${QUEUE}/messages
      message: {token.$: $Context.Current.TaskToken, id.$: $Input.id}
    Catch:
      - {Errors: [Refused], OutputConstructor: {why.$: $Context.Current.Error.Detail}, Next: refused}
    Next: approved
  - {Type: Pass, Name: approved, OutputConstructor: {by.$: $Input.by, length.$: length($Input.by)}, End: true}
  - {Type: Succeed, Name: refused}
`;

const main = async () => {
  const flows = new Flows({ ...key, endpoint: `https://${REGION}.fnf.aliyuncs.com` });
  const queues = new Queues(ACCOUNT_ID, { ...key, region: REGION, secure: false });
  await queues.createQueue(QUEUE, {});
  const post = { method: 'POST' };

  const created = await flows.createFlow(
    { Name: FLOW, Definition: definition(FLOW), Description: 'by Node.js', Type: 'FDL' }, post);
  const refusal = await flows.updateFlow(
    { Name: FLOW, Definition: definition('other'), Description: 'd', Type: 'FDL' }, post).catch((error) => error);

  const run = async (name, report) => {
    await flows.startExecution({ FlowName: FLOW, ExecutionName: name, Input: '{"id": "o-1"}' }, post);
    const message = (await queues.receiveMessage(QUEUE, 20)).body;
    await queues.deleteMessage(QUEUE, message.ReceiptHandle);
    await report(JSON.parse(message.MessageBody).token);
    return flows.describeExecution({ FlowName: FLOW, ExecutionName: name, WaitTimeSeconds: 20 }, { method: 'GET' });
  };
  const approved = await run('approved', (token) =>
    flows.reportTaskSucceeded({ TaskToken: token, Output: '{"by": "lee"}' }, post));
  const refused = await run('refused', (token) =>
    flows.reportTaskFailed({ TaskToken: token, Error: 'Refused', Cause: 'no' }, post));
  const history = await flows.getExecutionHistory(
    { FlowName: FLOW, ExecutionName: 'approved', Limit: 100 }, { method: 'GET' });
  await flows.deleteFlow({ Name: FLOW }, post);
  await queues.deleteQueue(QUEUE);

  return {
    created: created.Name,
    refusal: [refusal.code, refusal.message],
    approved: [approved.Status, approved.Output],
    refused: [refused.Status, refused.Output],
    events: history.Events.map((event) => event.Type),
  };
};

main().then((found) => console.log(JSON.stringify(found)), (error) => {
  console.error(error);
  process.exitCode = 1;
});
