'use strict';

/*
 * What a handler returned as the bytes its caller gets, and failures of user code as the objects callers get.
 *
 * Functions with a service (2.0) and without one (3.0) run on agents of two generations: the older one marks what was
 * not passed to a callback in the error's type, and leaves the first line out of a stack.
 *
 * Source: Function Compute, error handling of the Node.js runtimes; the published Node.js runtime; the types of thrown
 * values that are no errors are assumed.
 */

const UNHANDLED = 'FunctionUnhandledError';

/** What a handler gave its callback as an error. */
class Handled {
  constructor(reason) {
    this.reason = reason;
  }
}

/** The handler cannot be used. */
class LoadFailure extends Error {
  constructor(kind, message, cause) {
    super(message);
    this.kind = kind;
    this.cause = cause;
  }
}

/** Return the error object for whatever ended a call; `modern` for the agent of 3.0. */
function describe(failure, modern) {
  if (failure instanceof Handled) {
    return describeHandled(failure.reason, modern);
  }
  if (failure instanceof LoadFailure) {
    const stack = failure.cause ? stackOf(failure.cause, true) : [`${failure.kind}: ${failure.message}`];
    return { errorMessage: failure.message, errorType: unhandledType(failure.kind, modern), stackTrace: stack };
  }
  if (!isError(failure)) {
    return { errorMessage: textOf(failure), errorType: UNHANDLED };
  }
  return {
    errorMessage: textOf(failure.message),
    errorType: unhandledType(textOf(failure.name), modern),
    stackTrace: stackOf(failure, modern),
  };
}

/** Return the error object for an error that was not caught. */
function describeUncaught(failure, modern) {
  const described = describe(failure, modern);
  return modern ? described : Object.assign(described, { errorMessage: `${UNHANDLED}: uncaughtException` });
}

function describeHandled(reason, modern) {
  if (isError(reason)) {
    const name = textOf(reason.name);
    return { errorMessage: textOf(reason.message), errorType: name, stackTrace: stackOf(reason, modern) };
  }
  const described = { errorMessage: textOf(reason) };
  return modern ? Object.assign(described, { errorType: 'FunctionHandledError' }) : described;
}

function unhandledType(name, modern) {
  return modern ? name : `${UNHANDLED}: ${name}`;
}

function isError(value) {
  return value instanceof Error || (typeof value === 'object' && value !== null && typeof value.stack === 'string');
}

function stackOf(error, modern) {
  const lines = textOf(error.stack).split('\n');
  return modern ? lines : lines.slice(1).map((line) => line.trim());
}

/** Return a value as text; what user code made of it must not fail the agent. */
function textOf(value) {
  if (typeof value === 'string') {
    return value;
  }
  try {
    return (typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)) || '';
  } catch (error) {
    return Object.prototype.toString.call(value);
  }
}

/** Return a result as bytes; throws what JSON.stringify throws. */
function toBody(value) {
  if (value === null || value === undefined) {
    return Buffer.alloc(0);
  }
  if (Buffer.isBuffer(value)) {
    return value;
  }
  switch (typeof value) {
    case 'string':
      return Buffer.from(value, 'utf8');
    case 'number':
    case 'boolean':
      return Buffer.from(String(value));
    case 'function':
      return Buffer.from(String(value.constructor));
    default:
      return Buffer.from(JSON.stringify(value) || '', 'utf8');
  }
}

module.exports = { Handled, LoadFailure, describe, describeUncaught, toBody };
