'use strict';

/*
 * The `context` object that handlers and hooks get.
 *
 * Source: Function Compute, Node.js runtimes: context.
 */

/** Return the context of one call. */
function contextOf(boot, call, logger) {
  const [accessKeyId, accessKeySecret, securityToken] = (boot.keys_in_calls && call.keys) || ['', '', ''];
  const service = {
    logProject: boot.log_project,
    logStore: boot.log_store,
    qualifier: call.qualifier,
    versionId: boot.version,
  };
  return {
    requestId: call.rid,
    credentials: { accessKeyId, accessKeySecret, securityToken },
    function: {
      name: boot.name,
      handler: boot.handler,
      memory: boot.memory,
      timeout: boot.timeout,
      initializer: boot.initialize || '',
      initializationTimeout: boot.initializer_timeout,
    },
    service: boot.service === null ? service : Object.assign({ name: boot.service }, service),
    region: boot.region,
    accountId: boot.account,
    retryCount: call.retry,
    logger,
    tracing: {
      openTracingSpanContext: call.tracing['x-fc-tracing-opentracing-span-context'] || '',
      openTracingSpanBaggages: Object.assign(
        baggages(call.tracing['x-fc-tracing-opentracing-span-baggages']), items(call.tracing)),
      jaegerEndpoint: call.tracing['x-fc-tracing-jaeger-endpoint'] || '',
    },
  };
}

/** Return base64 JSON as an object; a caller's malformed header is no reason to fail the function. */
function baggages(encoded) {
  try {
    return JSON.parse(Buffer.from(encoded || 'e30=', 'base64').toString('utf8'));
  } catch (error) {
    return {};
  }
}

const ITEM = 'x-fc-tracing-opentracing-span-context-baggage-';

/** Return the items of baggage that have a header each. */
function items(tracing) {
  const named = Object.keys(tracing).filter((name) => name.startsWith(ITEM));
  return Object.fromEntries(named.map((name) => [name.slice(ITEM.length), tracing[name]]));
}

module.exports = { contextOf };
