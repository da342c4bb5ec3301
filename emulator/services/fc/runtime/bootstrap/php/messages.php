<?php

/*
 * The request and response objects of handlers that serve HTTP, under the names of the library that the platform's PHP
 * runtime brings. Code that brings that library itself, by its own autoloader, gets its own instead: these are declared
 * when nothing else has provided the names.
 *
 * Source: PSR-7; Function Compute, PHP runtime: HTTP handlers; the platform's own agent, HttpWrapper.php, for the
 * address, the parameters of the server and how queries that repeat are told.
 */

namespace localyun;

/**
 * A body: a text, or what is read while it is sent: an open file, an iterator, or a function of the number of bytes
 * wanted that returns false or null at the end.
 *
 * Source: PSR-7; ringcentral/psr7, stream_for.
 */
class Body
{
    private const WANTED = 8192;

    private string $content = '';
    private int $at = 0;
    private ?\Closure $source = null;

    public function __construct($content)
    {
        if (is_resource($content)) {
            $this->source = fn (int $wanted) => feof($content) ? null : fread($content, $wanted);
        } elseif ($content instanceof \Iterator) {
            $begun = false;
            $this->source = function () use ($content, &$begun) {
                if ($begun) {
                    $content->next(); // not before the next piece is wanted
                }
                $begun = true;
                return $content->valid() ? (string) $content->current() : null;
            };
        } elseif (!is_scalar($content) && is_callable($content)) {
            $this->source = \Closure::fromCallable($content);
        } else {
            $this->content = (string) $content;
        }
    }

    public function __toString(): string
    {
        $this->fill(PHP_INT_MAX);
        return $this->content;
    }

    /** Return the pieces of the whole body as its source has them; none of them is kept. */
    public function pieces(): \Generator
    {
        if ($this->content !== '') {
            yield $this->content;
        }
        while (($piece = $this->pull()) !== null) {
            yield $piece;
        }
    }

    public function getContents(): string
    {
        return $this->read(PHP_INT_MAX);
    }

    public function read(int $length): string
    {
        $this->fill($length > PHP_INT_MAX - $this->at ? PHP_INT_MAX : $this->at + $length);
        $piece = substr($this->content, $this->at, $length);
        $this->at += strlen($piece);
        return $piece;
    }

    public function write(string $text): int
    {
        $this->content .= $text;
        return strlen($text);
    }

    public function rewind(): void
    {
        $this->at = 0;
    }

    public function eof(): bool
    {
        $this->fill($this->at + 1);
        return $this->at >= strlen($this->content);
    }

    public function getSize(): ?int
    {
        return $this->source === null ? strlen($this->content) : null;
    }

    private function fill(int $size): void
    {
        while (strlen($this->content) < $size && ($piece = $this->pull()) !== null) {
            $this->content .= $piece;
        }
    }

    private function pull(): ?string
    {
        $piece = $this->source === null ? null : ($this->source)(self::WANTED);
        if ($piece === null || $piece === false) {
            $this->source = null;
            return null;
        }
        return (string) $piece;
    }
}

/** Header fields and a body; changes make a copy. */
class Message
{
    protected array $headers = [];
    protected Body $body;

    public function __construct(array $headers, $body)
    {
        foreach ($headers as $name => $values) {
            $this->headers[$name] = array_map('strval', is_array($values) ? array_values($values) : [$values]);
        }
        $this->body = $body instanceof Body ? $body : new Body($body);
    }

    public function getProtocolVersion(): string
    {
        return '1.1';
    }

    public function getHeaders(): array
    {
        return $this->headers;
    }

    public function hasHeader(string $name): bool
    {
        return $this->getHeader($name) !== [];
    }

    public function getHeader(string $name): array
    {
        return array_change_key_case($this->headers)[strtolower($name)] ?? [];
    }

    public function getHeaderLine(string $name): string
    {
        return implode(', ', $this->getHeader($name));
    }

    public function withHeader(string $name, $value): self
    {
        $copy = $this->withoutHeader($name);
        $copy->headers[$name] = array_map('strval', (array) $value);
        return $copy;
    }

    public function withAddedHeader(string $name, $value): self
    {
        return $this->withHeader($name, array_merge($this->getHeader($name), (array) $value));
    }

    public function withoutHeader(string $name): self
    {
        $copy = clone $this;
        $copy->headers = array_filter($copy->headers, fn ($each) => strcasecmp($each, $name) !== 0, ARRAY_FILTER_USE_KEY);
        return $copy;
    }

    public function getBody(): Body
    {
        return $this->body;
    }

    public function withBody($body): self
    {
        $copy = clone $this;
        $copy->body = $body instanceof Body ? $body : new Body($body);
        return $copy;
    }
}

/** An address without a scheme, which is why its host is a part of its path. */
class Uri
{
    private string $path;
    private string $query;

    public function __construct(string $text)
    {
        [$this->path, $this->query] = explode('?', $text, 2) + [1 => ''];
    }

    public function getScheme(): string
    {
        return '';
    }

    public function getAuthority(): string
    {
        return '';
    }

    public function getUserInfo(): string
    {
        return '';
    }

    public function getHost(): string
    {
        return '';
    }

    public function getPort(): ?int
    {
        return null;
    }

    public function getPath(): string
    {
        return $this->path;
    }

    public function getQuery(): string
    {
        return $this->query;
    }

    public function getFragment(): string
    {
        return '';
    }

    public function __toString(): string
    {
        return $this->query === '' ? $this->path : "$this->path?$this->query";
    }
}

/** An HTTP request; its attributes are `path`, `requestURI` and `clientIP`. */
class ServerRequest extends Message
{
    private string $method;
    private Uri $uri;
    private array $server;
    private array $attributes;
    private array $queries;
    private $parsed = null;

    public function __construct(
        string $method,
        Uri $uri,
        array $headers,
        string $body,
        array $server,
        array $queries,
        array $attributes
    ) {
        parent::__construct($headers, $body);
        $this->method = $method;
        $this->uri = $uri;
        $this->server = $server;
        $this->queries = $queries;
        $this->attributes = $attributes;
    }

    public function getMethod(): string
    {
        return $this->method;
    }

    public function getRequestTarget(): string
    {
        return $this->attributes['requestURI'];
    }

    public function getUri(): Uri
    {
        return $this->uri;
    }

    public function getServerParams(): array
    {
        return $this->server;
    }

    public function getCookieParams(): array
    {
        $cookies = [];
        foreach (explode(';', $this->getHeaderLine('Cookie')) as $pair) {
            [$name, $value] = explode('=', trim($pair), 2) + [1 => null];
            if ($value !== null) {
                $cookies[urldecode($name)] = urldecode($value);
            }
        }
        return $cookies;
    }

    public function getQueryParams(): array
    {
        return $this->queries;
    }

    public function withQueryParams(array $queries): self
    {
        $copy = clone $this;
        $copy->queries = $queries;
        return $copy;
    }

    public function getUploadedFiles(): array
    {
        return [];
    }

    public function getParsedBody()
    {
        return $this->parsed;
    }

    public function withParsedBody($data): self
    {
        $copy = clone $this;
        $copy->parsed = $data;
        return $copy;
    }

    public function getAttributes(): array
    {
        return $this->attributes;
    }

    public function getAttribute(string $name, $default = null)
    {
        return $this->attributes[$name] ?? $default;
    }

    public function withAttribute(string $name, $value): self
    {
        $copy = clone $this;
        $copy->attributes[$name] = $value;
        return $copy;
    }

    public function withoutAttribute(string $name): self
    {
        $copy = clone $this;
        unset($copy->attributes[$name]);
        return $copy;
    }
}

/** An HTTP response. */
class Response extends Message
{
    private int $status;

    public function __construct(int $status = 200, array $headers = [], $body = '', string $version = '1.1', ?string $reason = null)
    {
        parent::__construct($headers, $body);
        $this->status = $status;
    }

    public function getStatusCode(): int
    {
        return $this->status;
    }

    public function withStatus(int $status, string $reason = ''): self
    {
        $copy = clone $this;
        $copy->status = $status;
        return $copy;
    }
}

/** Return the request that the runtime interface describes; a query that has one value is a text, else a list. */
function request_of(array $http, string $body, array $context): ServerRequest
{
    $uri = new Uri($context['accountId'] . '.' . $context['region'] . '.fc.aliyuncs.com' . $http['requestURI']);
    $server = [
        'SERVER_PROTOCOL' => 'HTTP/1.1',
        'SERVER_ADDR' => '127.0.0.1',
        'SERVER_PORT' => '19001',
        'REQUEST_METHOD' => $http['method'],
        'REQUEST_TIME' => time(),
        'REQUEST_TIME_FLOAT' => microtime(true),
        'QUERY_STRING' => $uri->getQuery(),
        'DOCUMENT_ROOT' => getcwd(),
        'REQUEST_URI' => $http['requestURI'],
        'REMOTE_ADDR' => $http['clientIP'],
        'HTTP_HOST' => $http['host'],
    ];
    $queries = array_map(fn ($values) => count($values) === 1 ? $values[0] : $values, $http['queriesMap']);
    $attributes = ['path' => $http['path'], 'requestURI' => $http['requestURI'], 'clientIP' => $http['clientIP']];
    return new ServerRequest($http['method'], $uri, $http['headersMap'], $body, $server, $queries, $attributes);
}

spl_autoload_register(function (string $name): void {
    if ($name === 'RingCentral\Psr7\Response') {
        class_alias(Response::class, $name);
    }
});
