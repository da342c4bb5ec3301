'use strict';

/*
 * What a handler returned as the bytes its caller gets.
 *
 * Source: the published Node.js runtime of Function Compute.
 */

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

module.exports = { toBody };
