using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Net.Http.Headers;

namespace Localyun
{
    /// <summary>One call as the runtime interface hands it out: header fields and the event.</summary>
    public sealed class Call
    {
        /// <summary>The field that describes an HTTP request, and the answer to one.</summary>
        public const string HttpField = "x-fc-http-params";

        /// <summary>The field of a call whose answer may be sent in parts.</summary>
        public const string StreamField = "x-localyun-stream";

        public readonly byte[] Event;
        private readonly Dictionary<string, string> _fields;

        public Call(HttpResponseHeaders fields, byte[] given)
        {
            Event = given;
            _fields = fields.ToDictionary(
                pair => pair.Key, pair => pair.Value.First(), StringComparer.OrdinalIgnoreCase);
        }

        public string RequestId
        {
            get { return Field("x-fc-request-id"); }
        }

        /// <summary>Whether an HTTP request is to be served, and not an event.</summary>
        public bool IsHttp
        {
            get { return _fields.ContainsKey(HttpField); }
        }

        /// <summary>Return a header field, empty when there is none.</summary>
        public string Field(string name)
        {
            string value;
            return _fields.TryGetValue(name, out value) ? value : "";
        }

        public int Number(string name)
        {
            string value = Field(name);
            return value.Length == 0 ? 0 : int.Parse(value, CultureInfo.InvariantCulture);
        }

        /// <summary>Return a line of the log as the context's logger writes it.</summary>
        public string LogLine(string level, string message)
        {
            string time = DateTime.UtcNow.ToString("yyyy-MM-ddTHH:mm:ss.fffZ", CultureInfo.InvariantCulture);
            return time + " " + RequestId + " [" + level + "] " + message;
        }
    }
}
