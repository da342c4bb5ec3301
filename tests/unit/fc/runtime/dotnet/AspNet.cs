// What packages bring of ASP.NET Core, as far as a host and its handlers need it: names and shapes are the contract.
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Threading.Tasks;
using Microsoft.Extensions.Primitives;

namespace Microsoft.Extensions.Primitives
{
    public struct StringValues : IEnumerable<string>
    {
        private readonly string[] _values;

        public StringValues(string value) : this(new[] { value })
        {
        }

        public StringValues(string[] values)
        {
            _values = values;
        }

        public IEnumerator<string> GetEnumerator()
        {
            return ((IEnumerable<string>)(_values ?? new string[0])).GetEnumerator();
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            return GetEnumerator();
        }
    }
}

namespace Microsoft.AspNetCore.Http
{
    public struct PathString
    {
        public readonly string Value;

        public PathString(string value)
        {
            if (value.Length > 0 && value[0] != '/')
            {
                throw new ArgumentException("The path must start with '/'");
            }
            Value = value;
        }
    }

    public struct QueryString
    {
        public readonly string Value;

        public QueryString(string value)
        {
            if (value.Length > 0 && value[0] != '?')
            {
                throw new ArgumentException("The query must start with '?'");
            }
            Value = value;
        }
    }

    public struct HostString
    {
        public readonly string Value;

        public HostString(string value)
        {
            Value = value;
        }
    }

    public interface IHeaderDictionary : IDictionary<string, StringValues>
    {
    }

    public class HeaderDictionary : Dictionary<string, StringValues>, IHeaderDictionary
    {
        public HeaderDictionary() : base(StringComparer.OrdinalIgnoreCase)
        {
        }
    }

    public class ConnectionInfo
    {
        public IPAddress RemoteIpAddress { get; set; }
    }

    public abstract class HttpContext
    {
        public abstract HttpRequest Request { get; }
        public abstract HttpResponse Response { get; }
        public ConnectionInfo Connection { get; } = new ConnectionInfo();
    }

    public abstract class HttpRequest
    {
        public HttpContext HttpContext { get; internal set; }
        public string Method { get; set; }
        public string Protocol { get; set; }
        public string Scheme { get; set; }
        public HostString Host { get; set; }
        public PathString PathBase { get; set; }
        public PathString Path { get; set; }
        public QueryString QueryString { get; set; }
        public IHeaderDictionary Headers { get; } = new HeaderDictionary();
        public Stream Body { get; set; } = Stream.Null;
    }

    public abstract class HttpResponse
    {
        /// <summary>Stands for what writes to the body in newer versions and need not be flushed.</summary>
        public readonly MemoryStream Writer = new MemoryStream();

        public int StatusCode { get; set; } = 200;
        public long? ContentLength { get; set; }
        public IHeaderDictionary Headers { get; } = new HeaderDictionary();
        public Stream Body { get; set; } = Stream.Null;

        public async Task CompleteAsync()
        {
            Writer.Position = 0;
            await Writer.CopyToAsync(Body);
        }
    }

    public sealed class DefaultHttpContext : HttpContext
    {
        public DefaultHttpContext()
        {
            Request = new DefaultHttpRequest { HttpContext = this };
        }

        public override HttpRequest Request { get; }
        public override HttpResponse Response { get; } = new DefaultHttpResponse();
    }

    internal sealed class DefaultHttpRequest : HttpRequest
    {
    }

    internal sealed class DefaultHttpResponse : HttpResponse
    {
    }
}
