using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Reflection;
using System.Threading.Tasks;

namespace Localyun
{
    /// <summary>
    /// The request and the response of a handler that serves HTTP: objects of the ASP.NET Core that the package brings or
    /// its framework has, made by their names.
    /// Source: Function Compute, C# runtimes: HTTP handlers; fc-dotnet-libs, FcHttpEntrypoint. That <c>PathBase</c> is the
    /// trigger's part of the path, the scheme, and <c>AppCodePath</c> are assumed.
    /// </summary>
    public sealed class Http
    {
        private const string EntryPoint = "Aliyun.Serverless.Core.Http.FcHttpEntrypoint";
        private const string Forms = "Microsoft.AspNetCore.Http.";
        private const string Context = Forms + "DefaultHttpContext, Microsoft.AspNetCore.Http";
        private readonly Call _call;
        private readonly object _request;
        private readonly object _response;

        public Http(Call call, Parts parts)
        {
            _call = call;
            Asked asked = (Asked)JsonText.Read(Convert.FromBase64String(call.Field(Call.HttpField)), typeof(Asked));
            object context = Activator.CreateInstance(Type.GetType(Context, true));
            _request = Get(context, "Request");
            _response = Get(context, "Response");
            Set(_request, "Method", asked.Method);
            Set(_request, "Protocol", "HTTP/1.1");
            Set(_request, "Scheme", "http");
            Set(_request, "Host", asked.Host);
            Set(_request, "PathBase", asked.BasePath.TrimEnd('/'));
            Set(_request, "Path", asked.Path);
            int query = asked.RequestUri.IndexOf('?');
            Set(_request, "QueryString", query < 0 ? "" : asked.RequestUri.Substring(query));
            Set(_request, "Body", new MemoryStream(call.Event));
            Headers(asked.HeadersMap);
            Set(Get(context, "Connection"), "RemoteIpAddress", IPAddress.Parse(asked.ClientIp));
            Set(_response, "Body", new Output(this, call.Field(Call.StreamField).Length > 0 ? parts : null));
        }

        /// <summary>Whether a method with these parameters serves HTTP, and not events.</summary>
        public static bool IsServedBy(MethodInfo method)
        {
            return method.GetParameters().Any(each => IsForm(each.ParameterType, "HttpRequest"));
        }

        /// <summary>Tell an entry point of the platform's package where its code is, before it is made.</summary>
        public static void Place(Type type, string code)
        {
            BindingFlags flags = BindingFlags.Public | BindingFlags.Static | BindingFlags.FlattenHierarchy;
            PropertyInfo place = type.GetProperty("AppCodePath", flags);
            if (place != null && place.DeclaringType.FullName == EntryPoint)
            {
                place.SetValue(null, code);
            }
        }

        /// <summary>Return what a parameter of this type is given.</summary>
        public object Given(Type type)
        {
            return IsForm(type, "HttpRequest") ? _request
                : IsForm(type, "HttpResponse") ? _response
                : type.FullName == Contexts.Interface ? Contexts.Of(type, _call) : null;
        }

        /// <summary>Return what has not been sent yet of the response that the handler has returned, or was given.</summary>
        public Answer Answer(object returned)
        {
            object response = returned ?? _response;
            MethodInfo complete = response.GetType().GetMethod("CompleteAsync", Type.EmptyTypes); // since ASP.NET Core 3
            if (complete != null)
            {
                Functions.Wait((Task)complete.Invoke(response, null));
            }
            Stream body = (Stream)Get(response, "Body");
            Output output = body as Output;
            return new Answer("response", output != null ? output.ToArray() : Functions.Content(body), Described(response));
        }

        private static bool IsForm(Type type, string name)
        {
            return type.FullName == Forms + name;
        }

        private static object Get(object owner, string name)
        {
            return Property(owner.GetType(), name).GetValue(owner);
        }

        /// <summary>Set a property; the types that hold a path, a query or a host are made of their texts.</summary>
        private static void Set(object owner, string name, object value)
        {
            PropertyInfo property = Property(owner.GetType(), name);
            bool fits = property.PropertyType.IsInstanceOfType(value);
            property.SetValue(owner, fits ? value : Activator.CreateInstance(property.PropertyType, value));
        }

        private static PropertyInfo Property(Type type, string name)
        {
            return type.GetProperty(name) ?? throw new MissingMemberException(type.FullName, name);
        }

        private void Headers(Dictionary<string, string[]> sent)
        {
            object headers = Get(_request, "Headers");
            PropertyInfo item = headers.GetType().GetProperty("Item", new[] { typeof(string) });
            foreach (KeyValuePair<string, string[]> pair in sent)
            {
                object values = Activator.CreateInstance(item.PropertyType, new object[] { pair.Value });
                item.SetValue(headers, values, new object[] { pair.Key });
            }
        }

        /// <summary>Return status and fields as the runtime interface takes them.</summary>
        private static string Described(object response)
        {
            return Convert.ToBase64String(JsonText.Write(new Dictionary<string, object>
            {
                { "status", Get(response, "StatusCode").ToString() },
                { "headersMap", Fields(response).ToDictionary(pair => pair.Key, pair => pair.Value) },
            }));
        }

        private static IEnumerable<KeyValuePair<string, string[]>> Fields(object response)
        {
            foreach (object pair in (IEnumerable)Get(response, "Headers"))
            {
                IEnumerable<string> values = (IEnumerable<string>)Get(pair, "Value");
                yield return new KeyValuePair<string, string[]>((string)Get(pair, "Key"), values.ToArray());
            }
        }

        /// <summary>A request as the runtime interface describes it.</summary>
        private sealed class Asked
        {
            public string Method { get; set; }
            public string Path { get; set; }
            public string BasePath { get; set; }
            public string RequestUri { get; set; }
            public string ClientIp { get; set; }
            public string Host { get; set; }
            public Dictionary<string, string[]> HeadersMap { get; set; }
        }

        /// <summary>
        /// The body of the response. Where the call allows it, what is written is sent at each flush and when it is much,
        /// the first piece with status and fields; a body whose length is stated and small waits for the end.
        /// </summary>
        private sealed class Output : MemoryStream
        {
            private const int Short = 1024 * 1024;
            private const int Full = 64 * 1024;
            private readonly Http _http;
            private readonly Parts _parts;
            private bool _committed;

            public Output(Http http, Parts parts)
            {
                _http = http;
                _parts = parts;
            }

            public override void Write(byte[] source, int from, int size)
            {
                base.Write(source, from, size);
                if (Length >= Full)
                {
                    Flush();
                }
            }

            public override void Flush()
            {
                if (_parts != null && Length > 0 && (_committed || !IsShort()))
                {
                    _parts(new Answer("part", ToArray(), _committed ? null : Described(_http._response)));
                    _committed = true;
                    SetLength(0);
                }
            }

            private bool IsShort()
            {
                long? stated = (long?)Get(_http._response, "ContentLength");
                return stated <= Short;
            }
        }
    }
}
