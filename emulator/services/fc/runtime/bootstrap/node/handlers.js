'use strict';

/*
 * Finding the function that a handler string names: `dir/file.export` is `exports.export` of `dir/file.js` under the
 * code folder (`.cjs` and `.mjs` are tried next). A loaded handler is kept; a failure is tried again.
 *
 * Source: Function Compute, handlers of the Node.js runtimes; texts for a handler without a dot and for a missing export
 * are those of the Python runtime (assumed).
 */

const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');

const { LoadFailure } = require('./results');

const SUFFIXES = ['.js', '.cjs', '.mjs'];

/** The handlers of one instance; `log` gets a line at the first load of each. */
class Handlers {
  constructor(folder, log) {
    this.folder = folder;
    this.log = log;
    this.loaded = new Map();
  }

  /** Return (a promise of) the function *name* stands for; fails with LoadFailure. */
  get(name) {
    return this.loaded.get(name) || this.load(name);
  }

  async load(name) {
    const dot = name.lastIndexOf('.');
    if (dot <= 0) {
      throw new LoadFailure('InvalidHandleName', `Invalid handler '${name}'`);
    }
    this.log(`load code for handler:${name}\n`);
    const exported = await this.module(name.slice(0, dot));
    const attribute = name.slice(dot + 1);
    let handler = exported[attribute];
    if (handler === undefined && exported.default) {
      handler = exported.default[attribute];
    }
    if (typeof handler !== 'function') {
      throw new LoadFailure('HandlerNotFound', `Handler '${attribute}' is missing on module '${name.slice(0, dot)}'`);
    }
    this.loaded.set(name, handler);
    return handler;
  }

  async module(name) {
    const stem = path.resolve(this.folder, name);
    const file = SUFFIXES.map((suffix) => stem + suffix).find((candidate) => fs.existsSync(candidate));
    if (file === undefined) {
      throw new LoadFailure('ImportModuleError', `Module '${stem}.js' is missing.`);
    }
    try {
      return await load(file);
    } catch (error) {
      throw asLoadFailure(error, this.folder);
    }
  }
}

/** What the platform brings. Source: Function Compute, Node.js runtimes: built-in modules. */
const PLATFORM_MODULES = new Set([
  '@alicloud/fc2', '@alicloud/pop-core', 'ali-mns', 'ali-oss', 'aliyun-sdk', 'body', 'co', 'gm', 'opencv', 'raw-body',
  'tablestore',
]);
const FOLDER = '~/.localyun/nodejs';

function load(file) {
  if (file.endsWith('.mjs')) {
    return import(pathToFileURL(file).href);
  }
  try {
    return require(file);
  } catch (error) {
    if (error && error.code === 'ERR_REQUIRE_ESM') {
      return import(pathToFileURL(file).href);
    }
    throw error;
  }
}

function asLoadFailure(error, folder) {
  if (error instanceof SyntaxError) {
    return new LoadFailure('UserCodeSyntaxError', error.message, error);
  }
  if (isMissing(error)) {
    const hint = missingPackage(error, folder);
    if (hint) {
      error.stack += `\n${hint}`;
    }
    return new LoadFailure('ImportModuleError', error.message, error);
  }
  return error;
}

function isMissing(error) {
  return Boolean(error) && (error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND');
}

/** Return how to install what the code in *folder* did not find; empty when nothing is known of it. */
function missingPackage(error, folder) {
  const missing = isMissing(error) && /^Cannot find (?:module|package) '((?:@[^'/]+\/)?[^'/]+)/.exec(error.message);
  if (!missing) {
    return '';
  }
  if (PLATFORM_MODULES.has(missing[1])) {
    return `The cloud's Node.js runtimes bring ${missing[1]}; here: npm install --prefix ${FOLDER} ${missing[1]}`;
  }
  return isRequired(missing[1], folder)
    ? `package.json names ${missing[1]}, not installed here: npm install --prefix '${folder}'`
    : '';
}

function isRequired(name, folder) {
  try {
    const { dependencies } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    return Object.prototype.hasOwnProperty.call(dependencies, name);
  } catch (error) {
    return false; // there is no such file, or it has no such member
  }
}

module.exports = { Handlers, missingPackage };
