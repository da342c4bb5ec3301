'use strict';

/*
 * Sends connections to the cloud's host names to an emulator on this machine, in any Node.js program.
 *
 * Every connection goes through `net.Socket.prototype.connect`. For a name under `aliyuncs.com` or `fcapp.run` the
 * address becomes the loopback one and the ports 80 and 443 the emulator's; the name stays what TLS asks for and
 * verifies. A proxy that is there for programs without a hook is hidden from this one, whose calls to other hosts go the
 * way they always went, and kept for the programs it starts. Without the variables nothing changes.
 *
 * This file stands alone: it is loaded into users' programs by `node --require`, under any Node.js from 10 on.
 * Variables read: `LOCALYUN_HTTP_PORT`, `LOCALYUN_HTTPS_PORT`, `LOCALYUN_PROXY_URL`. The emulator's certificate
 * authority has to be named in `NODE_EXTRA_CA_CERTS` before the program starts; Node.js reads it itself.
 */

const net = require('net');

const SUFFIXES = ['.aliyuncs.com', '.fcapp.run'];
const LOOPBACK = '127.0.0.1';
const PROXY_VARIABLES = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'];

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

/** Whether *host* is one of the cloud's. */
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

/** Take the emulator's proxy out of the environment, and give it to programs that inherit the rest. */
function hideProxy(environment) {
  const proxy = environment.LOCALYUN_PROXY_URL;
  const hidden = {};
  for (const name of PROXY_VARIABLES) {
    if (proxy && environment[name] === proxy) {
      hidden[name] = proxy;
      delete environment[name];
    }
  }
  if (Object.keys(hidden).length === 0) {
    return;
  }
  const children = require('child_process');
  const spawn = children.ChildProcess.prototype.spawn;
  children.ChildProcess.prototype.spawn = function spawnWithProxy(options) {
    const pairs = options && options.envPairs;
    if (Array.isArray(pairs) && pairs.some((pair) => pair.startsWith('LOCALYUN_PROXY_URL='))) {
      const missing = PROXY_VARIABLES.filter((name) => !pairs.some((pair) => pair.startsWith(`${name}=`)));
      options.envPairs = pairs.concat(missing.filter((name) => hidden[name]).map((name) => `${name}=${hidden[name]}`));
    }
    return spawn.call(this, options);
  };
  for (const name of ['spawnSync', 'execSync', 'execFileSync']) {
    const original = children[name];
    children[name] = (...parameters) => original(...withProxy(parameters, hidden, environment));
  }
  require('module').syncBuiltinESMExports(); // for programs that import these by name
}

/** Return the parameters of a function that starts a program and waits, with the proxy in its environment. */
function withProxy(parameters, hidden, environment) {
  const last = parameters[parameters.length - 1];
  const given = last && typeof last === 'object' && !Array.isArray(last);
  const options = given ? last : {};
  const env = options.env || environment;
  if (!('LOCALYUN_PROXY_URL' in env)) {
    return parameters;
  }
  const others = given ? parameters.slice(0, -1) : parameters;
  return [...others, Object.assign({}, options, { env: Object.assign({}, hidden, env) })];
}

install(process.env);
hideProxy(process.env);
