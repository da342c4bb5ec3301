'use strict';

/*
 * The request and response objects of a handler that serves HTTP: `handler(request, response, context)`.
 *
 * Source: Function Compute, HTTP handlers of the Node.js runtimes; that header names arrive in lower case is assumed.
 */

const { Readable } = require('stream');

const { toBody } = require('./results');

const SHORT = 1024 * 1024;

/** Return the request for a frame's `http` header and the body. */
function requestOf(http, body) {
  const request = new Readable({ read() {} });
  request.push(body);
  request.push(null);
  const headers = {};
  for (const [name, value] of http.headers) {
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]},${value}` : value;
  }
  return Object.assign(request, {
    method: http.method,
    path: http.path,
    url: http.uri,
    clientIP: http.ip,
    headers,
    queries: queriesOf(http.uri),
    body,
  });
}

/**
 * What a handler answers with. `sent` is resolved at the end: with `{http, body}`, or with the last of the body alone
 * when pieces of it have gone to `part(piece, http)`, the first one with status and header fields.
 */
class Answer {
  constructor(part) {
    this.status = 200;
    this.headers = new Map();
    this.part = part;
    this.begun = false;
    this.pieces = [];
    this.sent = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Return the object that user code sees. */
  surface() {
    return {
      setStatusCode: (status) => {
        this.status = Number(status);
      },
      setHeader: (name, value) => {
        this.headers.set(String(name).toLowerCase(), [String(name), value]);
      },
      deleteHeader: (name) => {
        this.headers.delete(String(name).toLowerCase());
      },
      write: (piece) => this.write(toBody(piece)),
      end: (content) => this.finish(toBody(content)),
      send: (content) => this.send(content),
    };
  }

  send(content) {
    if (content && typeof content.pipe === 'function') {
      content.on('data', (piece) => this.write(Buffer.from(piece)));
      content.on('error', (error) => this.reject(error));
      content.on('end', () => this.finish(Buffer.alloc(0)));
    } else {
      this.finish(toBody(content));
    }
  }

  /** Pass a piece on, or keep it when the whole is to be sent at once. */
  write(piece) {
    if (!this.part || this.isShort()) {
      this.pieces.push(piece);
    } else if (piece.length > 0) {
      this.part(piece, this.begun ? undefined : this.described());
      this.begun = true;
    }
    return true;
  }

  finish(body) {
    const rest = Buffer.concat([...this.pieces, body]);
    if (!this.begun) {
      this.resolve({ http: this.described(), body: rest });
      return;
    }
    this.write(rest);
    this.resolve({ body: Buffer.alloc(0) });
  }

  /** Whether the body is known to be short, so that sending it at once costs less. */
  isShort() {
    const [, length] = this.headers.get('content-length') || [];
    return !this.begun && length !== undefined && Number(length) <= SHORT;
  }

  described() {
    const headers = [];
    for (const [name, value] of this.headers.values()) {
      for (const each of Array.isArray(value) ? value : [value]) {
        headers.push([name, String(each)]);
      }
    }
    return { status: this.status, headers };
  }
}

function queriesOf(uri) {
  const queries = {};
  const at = uri.indexOf('?');
  for (const [name, value] of new URLSearchParams(at < 0 ? '' : uri.slice(at + 1))) {
    queries[name] = name in queries ? [].concat(queries[name], value) : value;
  }
  return queries;
}

module.exports = { Answer, requestOf };
