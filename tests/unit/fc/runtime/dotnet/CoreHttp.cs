// The entry point of Aliyun.Serverless.Core.Http, without the web host that it starts for those that do not override it.
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;

namespace Aliyun.Serverless.Core.Http
{
    public abstract class FcHttpEntrypoint
    {
        public static string AppCodePath { get; set; }

        public abstract Task<HttpResponse> HandleRequest(HttpRequest request, HttpResponse response, IFcContext context);
    }
}
