'use strict';

/*
 * ali-oss at the cloud's own addresses: `node objects.js [SECURE BUCKET]...` prints what came back, a line each.
 * The package is found through NODE_PATH or node_modules; no endpoint of an emulator is named.
 */

const OSS = require('ali-oss');

async function told(secure, bucket) {
  const client = new OSS({
    accessKeyId: process.env.AK_ID,
    accessKeySecret: process.env.AK_SECRET,
    region: `oss-${process.env.REGION}`,
    secure: secure === 'true',
  });
  await client.putBucket(bucket);
  client.useBucket(bucket);
  const put = await client.put('a b/é', Buffer.from('at home'));
  const got = await client.get('a b/é');
  const url = client.signatureUrl('a b/é');
  const byUrl = await client.urllib.request(url);
  const listed = await client.list();
  return {
    host: new URL(put.url).host,
    content: got.content.toString(),
    'by url': byUrl.data.toString(),
    keys: listed.objects.map((each) => each.name),
    buckets: (await client.listBuckets({ prefix: bucket })).buckets.map((each) => each.name),
    location: (await client.getBucketLocation(bucket)).location,
  };
}

(async () => {
  const words = process.argv.slice(2);
  for (let each = 0; each < words.length; each += 2) {
    console.log(JSON.stringify(await told(words[each], words[each + 1])));
  }
  process.exit(0); // the clients keep their connections, and with them the process
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
