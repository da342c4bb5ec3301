'use strict';

/*
 * Log lines of user code: `{UTC} {request id} [{level}] {message}` for the console and `context.logger`, anything
 * written to the standard streams as it is.
 *
 * With one call at a time everything goes to the log pipe. With several at once it is sent in frames with the id of the
 * request whose code wrote it, which asynchronous code keeps track of.
 *
 * Source: the published Node.js runtime of Function Compute; levels other than `verbose` are assumed, and so is what
 * `console.setLogLevel` does with a level that does not exist.
 */

const fs = require('fs');
const util = require('util');
const { AsyncLocalStorage } = require('async_hooks');

const LONGEST_LINE = 128 * 1024;
const LEVELS = { error: 0, warn: 1, warning: 1, info: 2, verbose: 3, debug: 4 };
const METHODS = { log: 'verbose', info: 'info', warn: 'warn', error: 'error', debug: 'debug' };

/** The log of one instance. `send` sends a frame; without `concurrent` it is not used. */
class Logs {
  constructor(boot, send) {
    this.send = send;
    this.concurrent = boot.concurrency > 1;
    this.requests = new AsyncLocalStorage();
    this.latest = '';
    this.threshold = LEVELS.debug;
    this.limit(boot.log_level);
  }

  /** Leave out what is less urgent than *level* from now on; a level that does not exist changes nothing. */
  limit(level) {
    const threshold = LEVELS[String(level).toLowerCase()];
    this.threshold = threshold === undefined ? this.threshold : threshold;
  }

  /** Make the console and the standard streams write here. */
  install() {
    for (const stream of [process.stdout, process.stderr]) {
      if (stream._handle && stream._handle.setBlocking) {
        stream._handle.setBlocking(true); // user code that floods the log waits, and nothing is in a queue at an answer
      }
    }
    for (const [method, level] of Object.entries(METHODS)) {
      console[method] = (...parts) => this.line(this.request(), level, util.format(...parts));
    }
    console.setLogLevel = (level) => this.limit(level);
    console.trace = (...parts) => {
      const holder = { name: 'Trace', message: util.format(...parts) };
      Error.captureStackTrace(holder, console.trace);
      this.line(this.request(), 'error', holder.stack);
    };
    if (this.concurrent) {
      for (const stream of [process.stdout, process.stderr]) {
        stream.write = (chunk, encoding, done) => {
          this.raw(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8'));
          const callback = typeof encoding === 'function' ? encoding : done;
          if (typeof callback === 'function') {
            process.nextTick(callback);
          }
          return true;
        };
      }
    }
  }

  /** Run *code* as part of a request. */
  within(requestId, code) {
    this.latest = requestId;
    return this.concurrent ? this.requests.run(requestId, code) : code();
  }

  /** Return the request that the running code belongs to. */
  request() {
    return (this.concurrent && this.requests.getStore()) || this.latest;
  }

  /** Return the logger of one request. */
  logger(requestId) {
    const logger = {};
    for (const [method, level] of Object.entries(METHODS)) {
      logger[method] = (...parts) => this.line(requestId, level, util.format(...parts));
    }
    return logger;
  }

  /** Write one line. */
  line(requestId, level, message) {
    if (LEVELS[level] <= this.threshold) {
      this.write(`${new Date().toISOString()} ${requestId} [${level}] ${message}\n`, requestId);
    }
  }

  /** Write text as it is. */
  write(text, requestId) {
    let data = Buffer.from(text, 'utf8');
    if (data.length > LONGEST_LINE) {
      data = Buffer.concat([data.subarray(0, LONGEST_LINE - 1), Buffer.from('\n')]);
    }
    this.raw(data, requestId);
  }

  raw(data, requestId) {
    if (this.concurrent) {
      this.send({ log: requestId || this.request() }, data);
    } else {
      writeAll(data);
    }
  }

  /** Mark in the pipe where the output of a call ends. */
  mark(sequence) {
    writeAll(Buffer.from(`\0${sequence}\n`, 'latin1'));
  }
}

function writeAll(data) {
  let rest = data;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') {
        return; // user code has closed it; what it logs from then on is lost to it alone
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

module.exports = { Logs };
