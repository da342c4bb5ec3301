'use strict';

/*
 * Official and common Node.js clients at the cloud's own addresses: `node clients.js NAME...` prints a line for each,
 * a JSON list of its name and the answer; one that fails has none.
 * The packages are found through NODE_PATH or node_modules; no endpoint of an emulator is named.
 */

const { ACCOUNT_ID, REGION, AK_ID, AK_SECRET } = process.env;
const key = { accessKeyId: AK_ID, accessKeySecret: AK_SECRET };

const unwrapped = (module) => module.default || module;

const pop = (scheme) => async () => {
  const { RPCClient } = require('@alicloud/pop-core');
  const client = new RPCClient({ ...key, endpoint: `${scheme}://${REGION}.fnf.aliyuncs.com`, apiVersion: '2019-03-15' });
  return client.request('ListFlows', {}, { method: 'POST' });
};

const fc2 = (secure) => async () => {
  const Client = require('@alicloud/fc2');
  const client = new Client(ACCOUNT_ID, { accessKeyID: AK_ID, accessKeySecret: AK_SECRET, region: REGION, secure });
  return (await client.listServices()).data;
};

const mns = (secure) => async () => {
  const Client = unwrapped(require('@alicloud/mns'));
  const client = new Client(ACCOUNT_ID, { ...key, region: REGION, secure });
  const queue = `node-${secure ? 'https' : 'http'}`;
  await client.createQueue(queue, {});
  await client.sendMessage(queue, { MessageBody: 'hello' });
  const received = await client.receiveMessage(queue, 3);
  return received.body.MessageBody;
};

const CLIENTS = {
  'pop-http': pop('http'),
  'pop-https': pop('https'),
  fnf: async () => {
    const Client = unwrapped(require('@alicloud/fnf-2019-03-15'));
    const client = new Client({ ...key, endpoint: `https://${REGION}.fnf.aliyuncs.com`, apiVersion: '2019-03-15' });
    return client.listFlows({ limit: 5 });
  },
  'fc2-http': fc2(false),
  'fc2-https': fc2(true),
  fc3: async () => {
    const { default: Client, ListFunctionsRequest } = require('@alicloud/fc20230330');
    const { Config } = require('@alicloud/openapi-core').$OpenApiUtil;
    const endpoint = `${ACCOUNT_ID}.${REGION}.fc.aliyuncs.com`;
    const client = new Client(new Config({ ...key, endpoint, regionId: REGION }));
    return (await client.listFunctions(new ListFunctionsRequest({}))).body;
  },
  'fc3-regional': async () => {
    const { default: Client, ListFunctionsRequest } = require('@alicloud/fc20230330');
    const { Config } = require('@alicloud/openapi-core').$OpenApiUtil;
    const client = new Client(new Config({ ...key, regionId: REGION })); // calls fc.aliyuncs.com
    return (await client.listFunctions(new ListFunctionsRequest({}))).body;
  },
  sts: async () => {
    const { default: Client } = require('@alicloud/sts20150401');
    const { Config } = require('@alicloud/openapi-core').$OpenApiUtil;
    return (await new Client(new Config({ ...key, regionId: REGION })).getCallerIdentity()).body;
  },
  'mns-http': mns(false),
  'mns-https': mns(true),
  'ali-mns': async () => {
    const { Account, MQ } = require('ali-mns');
    const queue = new MQ('node-mns', new Account(ACCOUNT_ID, AK_ID, AK_SECRET), REGION.replace('cn-', ''));
    return queue.sendP('hello');
  },
  'ali-oss': async () => {
    const OSS = require('ali-oss');
    const client = new OSS({ ...key, region: `oss-${REGION}`, bucket: 'example', secure: true });
    return (await client.list()).objects;
  },
};

(async () => {
  for (const name of process.argv.slice(2)) {
    try {
      console.log(JSON.stringify([name, await CLIENTS[name]()]));
    } catch (error) {
      console.error(error);
    }
  }
  process.exit(0); // clients keep their connections, and with them the process
})();
