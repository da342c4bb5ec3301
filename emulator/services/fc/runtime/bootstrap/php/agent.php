<?php

/*
 * The loop of one instance: wait for a call at the runtime interface, run the user's function, post the answer.
 *
 * Source: Function Compute, PHP runtime: handlers, context, logs, errors.
 */

namespace localyun;

require __DIR__ . '/messages.php';

const HTTP_FIELD = 'x-fc-http-params';
const STREAM_FIELD = 'x-localyun-stream';
const SHORT = 1024 * 1024; // a body of a known size up to this is sent at once
const PIECE = 8192;
const HOOKS = [
    1 => 'x-fc-function-initializer',
    2 => 'x-fc-instance-lifecycle-pre-stop-handler',
    3 => 'x-fc-instance-lifecycle-pre-freeze-handler',
];

/** What the platform says of the code, in place of an exception's class and place. */
class LoadFailure extends \Exception
{
    public string $kind;

    public function __construct(string $kind, string $message)
    {
        parent::__construct($message);
        $this->kind = $kind;
    }
}

/** `$GLOBALS['fcLogger']`: lines with the time and the request's id. */
class Logger
{
    public string $requestId = '';

    public function __call(string $level, array $arguments): void
    {
        $time = gmdate('Y-m-d\TH:i:s') . sprintf('.%03dZ', (int) (fmod(microtime(true), 1) * 1000));
        $level = $level === 'warn' ? 'WARNING' : strtoupper($level);
        fwrite(STDOUT, "$time {$this->requestId} [$level] " . ($arguments[0] ?? '') . "\n");
    }
}

/** The interface that calls come from and answers go to. */
class RuntimeApi
{
    private string $base;

    public function __construct(string $address)
    {
        $this->base = "http://$address/2020-11-11/runtime/invocation/";
    }

    /** Return header fields, names in lower case, and event of the next call. */
    public function next(): array
    {
        [$lines, $body] = $this->request('GET', 'next', [], null);
        $fields = [];
        foreach ($lines as $line) {
            [$name, $value] = array_pad(explode(':', $line, 2), 2, '');
            $fields[strtolower($name)] = trim($value);
        }
        return [$fields, $body];
    }

    public function post(string $requestId, string $kind, string $body, array $lines = []): void
    {
        $this->request('POST', "$requestId/$kind", ['Content-Type: application/octet-stream', ...$lines], $body);
    }

    private function request(string $method, string $page, array $lines, ?string $body): array
    {
        $options = ['method' => $method, 'header' => $lines, 'timeout' => 1e8, 'ignore_errors' => true];
        if ($body !== null) {
            $options['content'] = $body;
        }
        $answer = @file_get_contents($this->base . $page, false, stream_context_create(['http' => $options]));
        if ($answer === false) {
            exit(1); // the emulator has gone, and with it every caller
        }
        return [$http_response_header, $answer];
    }
}

/** Return the context of a call as handlers get it. */
function context_of(array $fields): array
{
    $get = fn (string $name): string => $fields["x-fc-$name"] ?? '';
    $service = array_filter(['name' => $get('service-name')]) + [
        'logProject' => $get('service-logproject'),
        'logStore' => $get('service-logstore'),
        'qualifier' => $get('qualifier'),
        'versionId' => $get('version-id'),
    ];
    $prefix = 'x-fc-tracing-opentracing-span-context-baggage-';
    $baggages = json_decode(base64_decode($get('tracing-opentracing-span-baggages')), true) ?: [];
    foreach ($fields as $name => $value) {
        if (str_starts_with($name, $prefix)) {
            $baggages[substr($name, strlen($prefix))] = $value;
        }
    }
    return [
        'requestId' => $get('request-id'),
        'credentials' => [
            'accessKeyId' => $get('access-key-id'),
            'accessKeySecret' => $get('access-key-secret'),
            'securityToken' => $get('security-token'),
        ],
        'function' => [
            'name' => $get('function-name'),
            'handler' => $get('function-handler'),
            'memory' => (int) $get('function-memory'),
            'timeout' => (int) $get('function-timeout'),
            'initializer' => $get('function-initializer'),
            'initializationTimeout' => (int) $get('initialization-timeout'),
        ],
        'service' => $service,
        'region' => $get('region'),
        'accountId' => $get('account-id'),
        'retryCount' => (int) $get('retry-count'),
        'tracing' => [
            'openTracingSpanContext' => $get('tracing-opentracing-span-context'),
            'jaegerEndpoint' => $get('tracing-jaeger-endpoint'),
            'openTracingSpanBaggages' => $baggages,
        ],
    ];
}

/** Return the function that a handler `file.function` names; its file is loaded once. */
function handler_of(string $handler): string
{
    $at = strrpos($handler, '.');
    if ($at === false) {
        throw new LoadFailure('InvalidHandleName', "Invalid handler '$handler'");
    }
    $file = getenv('FC_FUNC_CODE_PATH') . '/' . substr($handler, 0, $at) . '.php';
    if (!is_file($file)) {
        throw new LoadFailure('ImportModuleError', "Module '$file' is missing.");
    }
    require_once $file;
    $function = substr($handler, $at + 1);
    if (!function_exists($function)) {
        throw new LoadFailure('HandlerNotFound', "Handler '$function' is missing on module '" . substr($handler, 0, $at) . "'");
    }
    return $function;
}

/** Return the pieces of a body whose size is not known, or large; null of another. */
function pieces_of($body): ?\Generator
{
    if (!is_object($body) || ($body->getSize() ?? PHP_INT_MAX) <= SHORT) {
        return null;
    }
    if ($body instanceof Body) {
        return $body->pieces();
    }
    $read = function () use ($body) {
        if ($body->isSeekable()) {
            $body->rewind();
        }
        while (!$body->eof()) {
            yield $body->read(PIECE);
        }
    };
    return $read();
}

/**
 * Serve one call and return body and header lines of the answer.
 *
 * Where the call allows it, a body that is not known to be short goes to $send as it is written, its first piece with
 * the header lines.
 */
function perform(array $fields, string $event, callable $send): array
{
    $hook = HOOKS[(int) ($fields['x-fc-function-type'] ?? 0)] ?? null;
    $context = context_of($fields);
    if ($hook !== null) {
        handler_of($fields[$hook])($context);
        return ['', []];
    }
    $handler = handler_of($fields['x-fc-function-handler']);
    if (!isset($fields[HTTP_FIELD])) {
        $result = $handler($event, $context);
        return [is_string($result) ? $result : ($result === null ? '' : json_encode($result)), []];
    }
    $http = json_decode(base64_decode($fields[HTTP_FIELD]), true);
    $answer = $handler(request_of($http, $event, $context), $context);
    if (!is_object($answer) || !method_exists($answer, 'getStatusCode')) {
        throw new \UnexpectedValueException('an HTTP handler has to return a response');
    }
    $described = ['status' => $answer->getStatusCode(), 'headersMap' => (object) $answer->getHeaders()];
    $lines = [HTTP_FIELD . ': ' . base64_encode(json_encode($described))];
    $pieces = isset($fields[STREAM_FIELD]) ? pieces_of($answer->getBody()) : null;
    if ($pieces === null) {
        return [(string) $answer->getBody(), $lines];
    }
    foreach ($pieces as $piece) {
        if ($piece !== '') {
            flush();
            $send($piece, $lines);
            $lines = [];
        }
    }
    return ['', $lines];
}

/** Return what a caller gets of a failure. */
function describe(\Throwable $failure): array
{
    if ($failure instanceof LoadFailure) {
        return ['errorMessage' => $failure->getMessage(), 'errorType' => $failure->kind];
    }
    $lines = explode("\n", $failure->getTraceAsString());
    $own = array_filter($lines, fn (string $line): bool => !str_contains($line, __DIR__) && !str_contains($line, '{main}'));
    return [
        'errorMessage' => $failure->getMessage(),
        'errorType' => get_class($failure),
        'stackTrace' => [
            'file' => $failure->getFile(),
            'line' => $failure->getLine(),
            'traceString' => implode("\n", array_filter($own, fn (string $line): bool => !str_contains($line, '[internal'))),
        ],
    ];
}

function main(): void
{
    $api = new RuntimeApi(getenv('FC_RUNTIME_API'));
    $logger = $GLOBALS['fcLogger'] = new Logger();
    chdir(getenv('FC_FUNC_CODE_PATH'));
    while (true) {
        [$fields, $event] = $api->next();
        $logger->requestId = $fields['x-fc-request-id'];
        try {
            $send = fn (string $piece, array $lines) => $api->post($logger->requestId, 'part', $piece, $lines);
            [$body, $lines] = perform($fields, $event, $send);
            $kind = 'response';
        } catch (\Throwable $failure) {
            [$body, $lines, $kind] = [json_encode(describe($failure), JSON_UNESCAPED_SLASHES), [], 'error'];
            $logger->error($body);
        }
        flush();
        $api->post($logger->requestId, $kind, $body, $lines);
    }
}

main();
