'use strict';

/*
 * The emulator's time inside an instance: another Date, loaded once the clock has been moved or frozen. Timers stay real.
 */

const RealDate = Date;
const realNow = Date.now.bind(Date);
const realOrigin = performance.timeOrigin;

let offset = 0;
let frozen = null;
const named = [];

function now() {
  return frozen === null ? realNow() + offset : frozen;
}

const TurnedDate = new Proxy(RealDate, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});

/**
 * Let user code see the system's time plus an offset, or the time that it stands at; milliseconds. Programs that it
 * starts see it by `variables`.
 */
function turn([ahead, standing, variables]) {
  offset = ahead;
  frozen = standing;
  named.splice(0).forEach((name) => delete process.env[name]);
  Object.assign(process.env, variables);
  named.push(...Object.keys(variables));
  if (globalThis.Date !== TurnedDate) {
    globalThis.Date = TurnedDate;
    RealDate.prototype.constructor = TurnedDate;
    RealDate.now = now;
    Object.defineProperty(performance, 'timeOrigin', {
      configurable: true,
      get: () => (frozen === null ? realOrigin + offset : frozen - performance.now()),
    });
  }
}

module.exports = { turn };
