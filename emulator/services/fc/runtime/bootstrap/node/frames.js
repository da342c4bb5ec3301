'use strict';

/*
 * The frames between server and instance: two lengths of four bytes, big-endian, a JSON header, raw payload bytes. The
 * headers are described in the Python agent's frames.py; a channel inherited from the server's side begins with one
 * more frame of the agent, `{"hello": 1}`.
 */

const LENGTHS = 8;

/** Return the bytes of one frame. */
function encode(header, payload) {
  const head = Buffer.from(JSON.stringify(header), 'utf8');
  const body = payload || Buffer.alloc(0);
  const lengths = Buffer.alloc(LENGTHS);
  lengths.writeUInt32BE(head.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  return Buffer.concat([lengths, head, body]);
}

/** Collects received bytes and cuts them into frames. */
class FrameBuffer {
  constructor() {
    this.pieces = [];
    this.have = 0;
    this.wanted = LENGTHS;
  }

  /** Take in received bytes. */
  feed(data) {
    this.pieces.push(data);
    this.have += data.length;
  }

  /** Return the next whole frame as `[header, payload]`, or null when more bytes are needed. */
  next() {
    if (this.have < this.wanted) {
      return null;
    }
    const bytes = this.pieces.length === 1 ? this.pieces[0] : Buffer.concat(this.pieces, this.have);
    this.pieces = [bytes];
    const headEnd = LENGTHS + bytes.readUInt32BE(0);
    const end = headEnd + bytes.readUInt32BE(4);
    if (bytes.length < end) {
      this.wanted = end;
      return null;
    }
    this.pieces = bytes.length > end ? [bytes.subarray(end)] : [];
    this.have = bytes.length - end;
    this.wanted = LENGTHS;
    return [JSON.parse(bytes.toString('utf8', LENGTHS, headEnd)), bytes.subarray(headEnd, end)];
  }
}

module.exports = { FrameBuffer, encode };
