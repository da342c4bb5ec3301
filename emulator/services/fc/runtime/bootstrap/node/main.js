'use strict';

/*
 * Entry of the agent's process: `node main.js DESCRIPTOR` takes a channel it has inherited, `node main.js connect`
 * reads the server's address and a secret as one JSON line on standard input and connects back.
 */

const fs = require('fs');
const net = require('net');

const { Agent } = require('./agent');

function connectBack() {
  const order = JSON.parse(fs.readFileSync(0, 'utf8'));
  const channel = net.connect(order.port, order.host);
  channel.write(order.secret);
  return channel;
}

const [place] = process.argv.splice(2);
const connecting = place === 'connect';
const channel = connecting ? connectBack() : new net.Socket({ fd: Number(place), readable: true, writable: true });
const agent = new Agent(channel);
if (!connecting) {
  agent.greet();
}
