// The admin API of localyun in a few functions; `localyun exec --start -- npm test` sets the variables.
import { createHmac, randomUUID } from "node:crypto";

const { LOCALYUN_ENDPOINT: endpoint, LOCALYUN_TOKEN: token } = process.env;
const keyId = process.env.ALIBABA_CLOUD_ACCESS_KEY_ID;
const secret = process.env.ALIBABA_CLOUD_ACCESS_KEY_SECRET;

/** Call a page of the admin API and return its JSON. */
export async function admin(method, page, body) {
  const answer = await fetch(`${endpoint}/_localyun/${page}`, {
    method,
    headers: { "X-Localyun-Token": token, "Content-Type": "application/json" },
    body: method === "POST" ? JSON.stringify(body ?? {}) : undefined,
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(`${answer.status} ${content.Code}: ${content.Message}`);
  return content;
}

/** Move the emulator's time, through every timer on the way. */
export const advance = (span) => admin("POST", "clock", { advance: span });

/** Keep the whole state; the returned function puts it back. */
export async function checkpoint(name) {
  await admin("POST", `checkpoints/${name}`);
  return () => admin("POST", `checkpoints/${name}/restore`);
}

const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

/** Call an operation of Serverless Workflow, signed as its SDKs do. */
export async function workflow(action, parameters) {
  const all = {
    Action: action,
    Version: "2019-03-15",
    Format: "JSON",
    AccessKeyId: keyId,
    SignatureMethod: "HMAC-SHA1",
    SignatureVersion: "1.0",
    SignatureNonce: randomUUID(),
    Timestamp: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
    ...parameters,
  };
  const query = Object.keys(all).sort().map((name) => `${encode(name)}=${encode(String(all[name]))}`).join("&");
  const signature = createHmac("sha1", `${secret}&`).update(`POST&%2F&${encode(query)}`).digest("base64");
  const answer = await fetch(endpoint, {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: `${query}&Signature=${encode(signature)}`,
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(`${answer.status} ${content.Code}: ${content.Message}`);
  return content;
}
