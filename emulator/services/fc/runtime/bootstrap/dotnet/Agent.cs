using System;
using System.Globalization;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Threading;

namespace Localyun
{
    /// <summary>
    /// The loop of one instance: wait for a call at the runtime interface, run the user's code, post the answer.
    /// Calls run in threads of their own, so that an instance can serve several at once.
    /// </summary>
    public sealed class Agent
    {
        private readonly string _base;
        private readonly HttpClient _client;
        private readonly Functions _functions = new Functions(Environment.GetEnvironmentVariable("FC_FUNC_CODE_PATH"));

        private Agent(string address)
        {
            _base = "http://" + address + "/2020-11-11/runtime/invocation/";
            _client = new HttpClient(new HttpClientHandler { UseProxy = false });
            _client.Timeout = Timeout.InfiniteTimeSpan;
        }

        /// <summary>With an argument: only see whether the runtime finds the data of the cultures.</summary>
        public static void Main(string[] arguments)
        {
            if (arguments.Length > 0)
            {
                Console.WriteLine(CultureInfo.CurrentCulture.Name);
                return;
            }
            new Agent(Environment.GetEnvironmentVariable("FC_RUNTIME_API")).Run();
        }

        private void Run()
        {
            while (true)
            {
                Call call = Next();
                new Thread(() => Serve(call)).Start();
            }
        }

        private Call Next()
        {
            try
            {
                using (HttpResponseMessage answer = _client.GetAsync(_base + "next").GetAwaiter().GetResult())
                {
                    answer.EnsureSuccessStatusCode();
                    return new Call(answer.Headers, answer.Content.ReadAsByteArrayAsync().GetAwaiter().GetResult());
                }
            }
            catch (HttpRequestException)
            {
                Environment.Exit(1); // the emulator has gone, or no longer knows this instance
                throw;
            }
        }

        private void Serve(Call call)
        {
            Answer answer;
            try
            {
                answer = _functions.Perform(call, piece => Post(call, piece));
            }
            catch (Exception thrown) // whatever user code throws is the caller's
            {
                Failure failure = new Failure(thrown);
                Console.Error.WriteLine(call.LogLine("ERROR", failure.Text()));
                answer = new Answer("error", failure.Json());
            }
            Console.Out.Flush();
            Console.Error.Flush();
            Post(call, answer);
        }

        private void Post(Call call, Answer answer)
        {
            ByteArrayContent content = new ByteArrayContent(answer.Body);
            content.Headers.ContentType = new MediaTypeHeaderValue("application/octet-stream");
            if (answer.Http != null)
            {
                content.Headers.Add(Call.HttpField, answer.Http);
            }
            try
            {
                string page = _base + call.RequestId + "/" + answer.Kind;
                _client.PostAsync(page, content).GetAwaiter().GetResult().Dispose();
            }
            catch (HttpRequestException)
            {
                Environment.Exit(1); // the emulator has gone, and with it the caller
            }
        }
    }
}
