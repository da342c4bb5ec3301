'use strict';

/*
 * The request and response objects of a handler that serves HTTP: `handler(request, response, context)`.
 *
 * Source: Function Compute, HTTP handlers of the Node.js runtimes; that header names arrive in lower case is assumed.
 */

const { Readable } = require('stream');

const { toBody } = require('./results');

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

/** What a handler answers with; `sent` is resolved with `{http, body}` by the first `send`. */
class Answer {
  constructor() {
    this.status = 200;
    this.headers = new Map();
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
      send: (content) => this.send(content),
    };
  }

  send(content) {
    if (content && typeof content.pipe === 'function') {
      const pieces = [];
      content.on('data', (piece) => pieces.push(Buffer.from(piece)));
      content.on('error', (error) => this.reject(error));
      content.on('end', () => this.finish(Buffer.concat(pieces)));
    } else {
      this.finish(toBody(content));
    }
  }

  finish(body) {
    const headers = [];
    for (const [name, value] of this.headers.values()) {
      for (const each of Array.isArray(value) ? value : [value]) {
        headers.push([name, String(each)]);
      }
    }
    this.resolve({ http: { status: this.status, headers }, body });
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
