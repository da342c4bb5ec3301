using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Aliyun.Serverless.Core;
using Microsoft.Extensions.Logging;

namespace Example
{
    public class Handlers
    {
        private string _prepared = "unprepared";

        public void Initialize(IFcContext context)
        {
            Console.WriteLine("initializing within " + context.FunctionParam.InitializationTimeout.TotalSeconds + " s");
            _prepared = "prepared";
        }

        public Stream Show(Stream input, IFcContext context)
        {
            IFunctionParameter function = context.FunctionParam;
            IServiceMeta service = context.ServiceMeta;
            ICredentials keys = context.Credentials;
            context.Logger.Say(LogLevel.Information, "working");
            context.Logger.Say(LogLevel.Debug, "not shown");
            context.Logger.EnabledLogLevel = LogLevel.Debug;
            context.Logger.Say(LogLevel.Debug, "shown");
            return Text(string.Join(
                " ", new StreamReader(input).ReadToEnd(), _prepared, context.RequestId, context.AccountId, context.Region,
                keys.AccessKeyId, keys.AccessKeySecret, keys.SecurityToken, function.FunctionName,
                function.FunctionHandler, function.FunctionInitializer, function.FunctionTimeout.TotalSeconds,
                function.MemoryLimitInMB, service.Name, service.LogProject, service.LogStore, service.Qualifier,
                service.VersionId, context.Logger.IsEnabled(LogLevel.Debug), context.Logger.BeginScope("x") == null));
        }

        public async Task<Stream> Echo(Stream input)
        {
            MemoryStream copy = new MemoryStream();
            await input.CopyToAsync(copy);
            return copy;
        }

        public static Order Double(Order order)
        {
            order.Count *= 2;
            return order;
        }

        [FcSerializer(typeof(Lines))]
        public string Joined(string[] lines)
        {
            return string.Join("+", lines);
        }

        public async Task Nothing(Order order, IFcContext context)
        {
            await Task.Delay(1);
            Console.WriteLine("nothing for " + order.Name + " é");
        }

        public async Task<string> FailLate()
        {
            await Task.Delay(1);
            throw new InvalidOperationException("late");
        }

        public async void FailUnreturned(Stream input, IFcContext context)
        {
            await Task.Delay(1);
            throw new InvalidOperationException("unreturned");
        }

        public Stream End(Stream input)
        {
            switch (new StreamReader(input).ReadToEnd())
            {
                case "fail":
                    throw new IOException("oops");
                case "sleep":
                    Thread.Sleep(60000);
                    return null;
                case "exit":
                    Environment.Exit(3);
                    return null;
                default:
                    return null;
            }
        }

        public void PreFreeze(IFcContext context)
        {
            Console.WriteLine("freezing");
        }

        public void PreStop(IFcContext context)
        {
            Console.WriteLine("stopping");
        }

        private static Stream Text(string text)
        {
            return new MemoryStream(Encoding.UTF8.GetBytes(text));
        }
    }

    public class Order
    {
        public string Name { get; set; }
        public int Count { get; set; }
        public List<string> Tags { get; set; }
    }

    public class Lines : IFcSerializer
    {
        public T Deserialize<T>(Stream source)
        {
            return (T)(object)new StreamReader(source).ReadToEnd().Split('\n');
        }

        public void Serialize<T>(T value, Stream target)
        {
            byte[] text = Encoding.UTF8.GetBytes("<" + value + ">");
            target.Write(text, 0, text.Length);
        }
    }

    public static class Program
    {
        public static void Main()
        {
        }
    }
}
