<?php

/*
 * The request and response objects of handlers that serve HTTP, under the names of the library that the platform's PHP
 * runtime brings. Code that brings that library itself, by its own autoloader, gets its own instead: these are declared
 * when nothing else has provided the names.
 *
 * Source: PSR-7; Function Compute, PHP runtime: HTTP handlers.
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

/** An HTTP request; its attributes are `path`, `requestURI` and `clientIP`. */
class ServerRequest extends Message
{
    private string $method;
    private array $attributes;
    private array $queries;

    public function __construct(string $method, array $headers, string $body, array $queries, array $attributes)
    {
        parent::__construct($headers, $body);
        $this->method = $method;
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

    public function getUri(): string
    {
        return $this->attributes['requestURI'];
    }

    public function getQueryParams(): array
    {
        return $this->queries;
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

/** Return the request that the runtime interface describes. */
function request_of(array $http, string $body): ServerRequest
{
    parse_str((string) parse_url('http://h' . $http['requestURI'], PHP_URL_QUERY), $queries);
    $attributes = ['path' => $http['path'], 'requestURI' => $http['requestURI'], 'clientIP' => $http['clientIP']];
    return new ServerRequest($http['method'], $http['headersMap'], $body, $queries, $attributes);
}

spl_autoload_register(function (string $name): void {
    if ($name === 'RingCentral\Psr7\Response') {
        class_alias(Response::class, $name);
    }
});
