using System;
using System.IO;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Aliyun.Serverless.Core;
using Aliyun.Serverless.Core.Http;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;

namespace Example
{
    public class Web : FcHttpEntrypoint
    {
        public override async Task<HttpResponse> HandleRequest(
            HttpRequest request, HttpResponse response, IFcContext context)
        {
            string body = await new StreamReader(request.Body).ReadToEndAsync();
            response.StatusCode = 201;
            response.Headers["X-Own"] = new StringValues(new[] { "a", "é" });
            response.Headers["Content-Type"] = default(StringValues);
            await Write(response.Body, string.Join(
                "\n", request.Method, request.Scheme, request.Protocol, request.Host.Value, request.PathBase.Value,
                request.Path.Value, request.QueryString.Value, string.Join("+", request.Headers["x-two"]),
                request.HttpContext.Connection.RemoteIpAddress, body, context.RequestId, AppCodePath,
                AppContext.BaseDirectory));
            return response;
        }

        /// <summary>Puts another stream in the place of the body, and leaves it at its end, as the package does.</summary>
        public async Task<HttpResponse> Replace(HttpRequest request, HttpResponse response)
        {
            response.Body = new MemoryStream();
            await Write(response.Body, "replaced");
            return response;
        }

        public async Task<HttpResponse> Another(HttpRequest request, HttpResponse response)
        {
            HttpResponse other = new DefaultHttpContext().Response;
            other.StatusCode = 404;
            other.Body = new MemoryStream();
            await Write(other.Body, "another");
            return other;
        }

        public void WriteLate(HttpRequest request, HttpResponse response)
        {
            Write(response.Writer, "late").Wait();
        }

        public Task<HttpResponse> Fail(HttpRequest request, HttpResponse response)
        {
            throw new InvalidOperationException("oops");
        }

        /// <summary>Writes in two pieces, the second when the file that the query names is there.</summary>
        public async Task<HttpResponse> Slow(HttpRequest request, HttpResponse response)
        {
            string query = Uri.UnescapeDataString(request.QueryString.Value);
            response.StatusCode = 201;
            response.Headers["X-Own"] = new StringValues("a");
            response.ContentLength = query.Contains("length=") ? 4 : (long?)null;
            await Write(response.Body, "one ");
            await response.Body.FlushAsync();
            int at = query.IndexOf("go=", StringComparison.Ordinal);
            while (at >= 0 && !File.Exists(query.Substring(at + 3)))
            {
                Thread.Sleep(5);
            }
            if (query.Contains("fail="))
            {
                throw new InvalidOperationException("oops");
            }
            if (query.Contains("exit="))
            {
                Environment.Exit(3);
            }
            if (response.ContentLength == null)
            {
                await Write(response.Body, "two true");
            }
            return response;
        }

        private static async Task Write(Stream target, string text)
        {
            byte[] bytes = Encoding.UTF8.GetBytes(text);
            await target.WriteAsync(bytes, 0, bytes.Length);
        }
    }
}
