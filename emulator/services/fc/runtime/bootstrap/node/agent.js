'use strict';

/*
 * The loop of one instance: take a call, run the user's function, answer. Calls overlap when the server sends several.
 *
 * An error that is not caught fails the calls that are running and ends the process, whose state is unknown then.
 */

const fs = require('fs');
const inspector = require('inspector');

const { contextOf } = require('./context');
const { FrameBuffer, encode } = require('./frames');
const { Handlers, missingPackage } = require('./handlers');
const { Answer, requestOf } = require('./http');
const { Logs } = require('./logs');
const { Handled, LoadFailure, describe, describeUncaught, toBody } = require('./results');

const KEY_VARIABLES = [
  ['ALIBABA_CLOUD_ACCESS_KEY_ID', 'ALIBABA_CLOUD_ACCESS_KEY_SECRET', 'ALIBABA_CLOUD_SECURITY_TOKEN'],
  ['accessKeyID', 'accessKeySecret', 'securityToken'],
];

// User code may replace these; the agent keeps the originals.
const exit = process.exit.bind(process);
const now = process.hrtime.bigint;

/** One function instance. */
class Agent {
  constructor(channel) {
    this.channel = channel;
    this.incoming = new FrameBuffer();
    this.running = new Map();
    this.boot = null;
    channel.on('data', (data) => this.receive(data));
    channel.on('error', () => exit(0)); // the server has gone, and with it every caller
    channel.on('close', () => exit(0));
    if (channel.setNoDelay) {
      channel.setNoDelay(true);
    }
    process.on('uncaughtException', (error) => this.giveUp(error));
  }

  /** Say that the process is there and reads. */
  greet() {
    this.send({ hello: 1 });
  }

  send(header, payload, done) {
    this.channel.write(encode(header, payload), done);
  }

  receive(data) {
    this.incoming.feed(data);
    for (let frame = this.incoming.next(); frame !== null; frame = this.incoming.next()) {
      if (this.boot === null) {
        this.start(frame[0]);
      } else {
        this.take(frame[0], frame[1]);
      }
    }
  }

  start(boot) {
    this.boot = boot;
    if (boot.adopted) {
      changeEnvironment(boot.adopted);
    }
    this.modern = boot.generation === '3.0';
    this.logs = new Logs(boot, (header, payload) => this.send(header, payload));
    this.handlers = new Handlers(boot.code_dir, (text) => this.logs.write(text));
    this.logs.install();
    if (boot.debug) {
      inspector.open(0, '127.0.0.1');
      this.send({ debugger: Number(new URL(inspector.url()).port) });
    }
    try {
      process.chdir(boot.code_dir);
    } catch (error) {
      this.send({ fatal: error.message }, null, () => exit(1));
    }
  }

  take(call, payload) {
    if (call.do === 'clock') {
      require('./turned').turn(call.time);
      this.send({ turned: true });
      return;
    }
    if (this.boot.mark) {
      this.send({ began: call.seq });
    }
    if (call.about) {
      this.about = call.about;
      publishKeys(this.boot.keys_in_environment && this.about.keys);
    }
    Object.assign(call, this.about);
    if (this.boot.debug === 'wait' && !this.awaited) {
      this.awaited = true;
      inspector.waitForDebugger();
    }
    this.running.set(call.seq, { call, began: now() });
    this.logs.within(call.rid, () => {
      this.perform(call, payload).then(
        (result) => this.succeed(call, result),
        (error) => this.fail(call, error, describe),
      );
    });
  }

  async perform(call, payload) {
    if (call.do === 'load') {
      await this.handlers.get(this.boot.handler).catch(() => {}); // the first call reports what is wrong with it
      return { body: Buffer.alloc(0) };
    }
    if (call.break) {
      return breakDown(call.break, this.boot.memory);
    }
    const invoking = call.do === 'invoke';
    const handler = await this.handlers.get(this.boot[invoking ? 'handler' : call.do]);
    const context = contextOf(this.boot, call, this.logs.logger(call.rid));
    if (call.http) {
      const part = (piece, http) => this.send({ part: call.seq, http }, piece);
      return serve(handler, requestOf(call.http, payload), context, call.stream && part);
    }
    const value = await run(handler, invoking ? [payload, context] : [context]);
    return { body: invoking ? toBody(value) : Buffer.alloc(0) };
  }

  succeed(call, result) {
    this.answer(call, { ok: true, http: result.http }, result.body);
  }

  fail(call, failure, description, done) {
    const described = description(failure, this.modern);
    const cause = failure instanceof Handled ? failure.reason : failure instanceof LoadFailure ? failure.cause : failure;
    this.logs.line(call.rid, 'error', (cause && cause.stack) || described.errorMessage);
    const hint = failure instanceof LoadFailure ? '' : missingPackage(cause, this.boot.code_dir);
    if (hint) {
      this.logs.line(call.rid, 'warn', hint);
    }
    const handled = failure instanceof Handled;
    if (this.boot.ends_on_errors && !handled && !(failure instanceof LoadFailure)) {
      exit(1);
    }
    this.answer(call, { ok: false, handled }, Buffer.from(JSON.stringify(described), 'utf8'), done);
  }

  answer(call, header, body, done) {
    const running = this.running.get(call.seq);
    if (running === undefined) {
      return;
    }
    this.running.delete(call.seq);
    const peak = peakKb();
    const answer = Object.assign({ done: call.seq, ms: Number(now() - running.began) / 1e6, mem: peak }, header);
    if (peak > this.boot.memory * 1024 && !this.boot.debug) {
      answer.over = exceeds(peak, this.boot.memory);
    }
    let payload = body;
    if (body.length > this.boot.response_limit) {
      answer.size = body.length;
      payload = Buffer.alloc(0);
    }
    if (this.boot.mark) {
      this.logs.mark(call.seq);
    }
    this.send(answer, payload, done);
  }

  giveUp(error) {
    if (this.boot === null) {
      process.stderr.write(`${error.stack}\n`);
      exit(1);
    }
    const calls = [...this.running.values()].map((running) => running.call);
    if (calls.length === 0) {
      this.logs.line(this.logs.latest, 'error', (error && error.stack) || String(error));
      exit(1);
    }
    let left = calls.length;
    for (const call of calls) {
      this.fail(call, error, describeUncaught, () => {
        left -= 1;
        if (left === 0) {
          exit(1);
        }
      });
    }
  }
}

/** Let a call fail in the way that a test has asked for: by itself, so that the server sees what it always sees. */
function breakDown(how, limitMb) {
  if (how === 'timeout') {
    return new Promise(() => setInterval(() => {}, 3600000));
  }
  if (how === 'crash') {
    exit(1);
  }
  if (how === 'oom') {
    const held = [];
    for (let size = 0; size < limitMb + 64; size += 1) {
      held.push(Buffer.alloc(1024 * 1024, 1));
    }
    return new Promise((resolve) => setTimeout(() => resolve({ body: Buffer.from(`${held.length}`) }), 2000));
  }
  throw new Error('a fault was injected: exception');
}

/** Call a handler and wait for its promise or for its callback, whichever comes first. */
function run(handler, parameters) {
  return new Promise((resolve, reject) => {
    const callback = (error, value) => {
      if (error) {
        reject(new Handled(error));
      } else {
        resolve(value);
      }
    };
    const returned = handler(...parameters, callback);
    if (returned && typeof returned.then === 'function') {
      returned.then(resolve, reject);
    }
  });
}

/** Let a handler serve an HTTP request; it is answered when the handler sends, by `part` as it writes. */
function serve(handler, request, context, part) {
  const answer = new Answer(part);
  return new Promise((resolve, reject) => {
    answer.sent.then(resolve, reject);
    const returned = handler(request, answer.surface(), context);
    if (returned && typeof returned.then === 'function') {
      returned.then(undefined, reject);
    }
  });
}

/** Give a process that was started before its function was known the environment of that function. */
function changeEnvironment(variables) {
  for (const name of Object.keys(process.env)) {
    if (!(name in variables)) {
      delete process.env[name];
    }
  }
  Object.assign(process.env, variables);
}

/** Keep the environment's keys those of the latest call: temporary keys expire before a warm instance does. */
function publishKeys(keys) {
  if (keys) {
    for (const names of KEY_VARIABLES) {
      names.forEach((name, index) => {
        process.env[name] = keys[index];
      });
    }
  }
}

/**
 * Return the peak in kilobytes. The kernel's status page comes first: the peak of `getrusage` includes that of
 * the process which started this one.
 */
function peakKb() {
  return field('VmHWM') || process.resourceUsage().maxRSS;
}

/** Whether the process needed more than it may; pages of mapped files do not count, they can be dropped. */
function exceeds(peak, limitMb) {
  return peak - field('RssFile') > limitMb * 1024;
}

function field(name) {
  try {
    const found = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(fs.readFileSync('/proc/self/status', 'latin1'));
    return found ? Number(found[1]) : 0;
  } catch (error) {
    return 0; // no such file outside Linux
  }
}

module.exports = { Agent };
