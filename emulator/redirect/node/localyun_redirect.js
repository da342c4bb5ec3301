'use strict';

/*
 * Sends connections to the cloud's host names to an emulator on this machine, in any Node.js program.
 *
 * Every connection goes through `net.Socket.prototype.connect`. For a name under `aliyuncs.com` or `fcapp.run` the
 * address becomes the loopback one and the ports 80 and 443 the emulator's; the name stays what TLS asks for and
 * verifies. Without the variables nothing changes.
 *
 * This file stands alone: it is loaded into users' programs by `node --require`, under any Node.js from 10 on.
 * Variables read: `LOCALYUN_HTTP_PORT`, `LOCALYUN_HTTPS_PORT`. The emulator's certificate authority has to be named in
 * `NODE_EXTRA_CA_CERTS` before the program starts; Node.js reads it itself.
 */

const net = require('net');

const SUFFIXES = ['.aliyuncs.com', '.fcapp.run'];
const LOOPBACK = '127.0.0.1';

/** Return the emulator's ports by the usual ones. */
function portsOf(environment) {
  const ports = new Map();
  for (const [usual, name] of [
    [80, 'LOCALYUN_HTTP_PORT'],
    [443, 'LOCALYUN_HTTPS_PORT'],
  ]) {
    if (/^\d+$/.test(environment[name] || '')) {
      ports.set(usual, Number(environment[name]));
    }
  }
  return ports;
}

/** Tell whether *host* is one of the cloud's. */
function isCloud(host) {
  const name = typeof host === 'string' ? host.toLowerCase().replace(/\.+$/, '') : '';
  return SUFFIXES.some((suffix) => name.endsWith(suffix));
}

/** Make connections to the cloud's names go to the emulator; installing again follows the environment as it is then. */
function install(environment) {
  const ports = portsOf(environment);
  if (ports.size === 0) {
    return false;
  }
  const original = net.Socket.prototype.connect.original || net.Socket.prototype.connect;
  const connect = function connect(...parameters) {
    return original.apply(this, redirected(parameters, ports));
  };
  connect.original = original;
  net.Socket.prototype.connect = connect;
  return true;
}

/** Return the parameters of a connect call, changed when they name the cloud. */
function redirected(parameters, ports) {
  const [first, second] = parameters;
  if (Array.isArray(first)) {
    // What net.connect() passes on: options and callback, in an array of Node's own that it knows by a symbol.
    if (first[0] && isCloud(first[0].host)) {
      first[0] = elsewhere(first[0], ports);
    }
    return parameters;
  }
  if (first && typeof first === 'object' && isCloud(first.host)) {
    return [elsewhere(first, ports), ...parameters.slice(1)];
  }
  if (isCloud(second)) {
    return [elsewhere({ port: first, host: second }, ports), ...parameters.slice(2)];
  }
  return parameters;
}

/** Return options with the emulator's address; TLS keeps the name, for which it looks at the object it has given. */
function elsewhere(options, ports) {
  const port = Number(options.port);
  const target = { host: LOOPBACK, port: ports.get(port) || port };
  if (!options.servername) {
    options.servername = options.host;
  }
  return Object.assign({}, options, target);
}

install(process.env);
