using System;
using System.Collections.Generic;
using System.Reflection;

namespace Localyun
{
    /// <summary>An object of an interface whose members a function answers.</summary>
    public class Stand : DispatchProxy
    {
        private Func<MethodInfo, object[], object> _answer;

        /// <summary>Return an object of the interface <paramref name="form"/>.</summary>
        public static object Of(Type form, Func<MethodInfo, object[], object> answer)
        {
            MethodInfo create = typeof(DispatchProxy).GetMethod("Create", Type.EmptyTypes);
            object made = create.MakeGenericMethod(form, typeof(Stand)).Invoke(null, null);
            ((Stand)made)._answer = answer;
            return made;
        }

        protected override object Invoke(MethodInfo method, object[] given)
        {
            object value = _answer(method, given);
            bool isMissing = value == null && method.ReturnType.IsValueType && method.ReturnType != typeof(void);
            return isMissing ? Activator.CreateInstance(method.ReturnType) : value;
        }
    }

    /// <summary>
    /// The context of a call, as an object of the interface in the user's package.
    /// Source: fc-dotnet-libs, Aliyun.Serverless.Core and Aliyun.Serverless.Core.Mock.
    /// </summary>
    public static class Contexts
    {
        public const string Interface = "Aliyun.Serverless.Core.IFcContext";
        private const int Information = 2;
        private static readonly string[] Levels = { "TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "ERROR" };

        public static object Of(Type form, Call call)
        {
            int lowest = Information;
            return Members(form, new Dictionary<string, Func<Type, object>>
            {
                { "RequestId", type => call.RequestId },
                { "AccountId", type => call.Field("x-fc-account-id") },
                { "Region", type => call.Field("x-fc-region") },
                { "FunctionParam", type => Function(type, call) },
                { "Credentials", type => Credentials(type, call) },
                { "ServiceMeta", type => Service(type, call) },
                { "Logger", type => Stand.Of(type, (method, given) => Log(call, method, given, ref lowest)) },
            });
        }

        private static object Function(Type form, Call call)
        {
            return Members(form, new Dictionary<string, Func<Type, object>>
            {
                { "FunctionName", type => call.Field("x-fc-function-name") },
                { "FunctionHandler", type => call.Field("x-fc-function-handler") },
                { "FunctionInitializer", type => call.Field("x-fc-function-initializer") },
                { "MemoryLimitInMB", type => call.Number("x-fc-function-memory") },
                { "FunctionTimeout", type => TimeSpan.FromSeconds(call.Number("x-fc-function-timeout")) },
                { "InitializationTimeout", type => TimeSpan.FromSeconds(call.Number("x-fc-initialization-timeout")) },
            });
        }

        private static object Credentials(Type form, Call call)
        {
            return Members(form, new Dictionary<string, Func<Type, object>>
            {
                { "AccessKeyId", type => call.Field("x-fc-access-key-id") },
                { "AccessKeySecret", type => call.Field("x-fc-access-key-secret") },
                { "SecurityToken", type => call.Field("x-fc-security-token") },
            });
        }

        private static object Service(Type form, Call call)
        {
            return Members(form, new Dictionary<string, Func<Type, object>>
            {
                { "Name", type => call.Field("x-fc-service-name") },
                { "LogProject", type => call.Field("x-fc-service-logproject") },
                { "LogStore", type => call.Field("x-fc-service-logstore") },
                { "Qualifier", type => call.Field("x-fc-qualifier") },
                { "VersionId", type => call.Field("x-fc-version-id") },
            });
        }

        /// <summary>Return an object whose properties have these values; others are null or zero.</summary>
        private static object Members(Type form, Dictionary<string, Func<Type, object>> values)
        {
            return Stand.Of(form, (method, given) =>
            {
                Func<Type, object> value;
                return values.TryGetValue(method.Name.Substring(4), out value) ? value(method.ReturnType) : null;
            });
        }

        private static object Log(Call call, MethodInfo method, object[] given, ref int lowest)
        {
            switch (method.Name)
            {
                case "get_EnabledLogLevel":
                    return Enum.ToObject(method.ReturnType, lowest);
                case "set_EnabledLogLevel":
                    lowest = (int)given[0];
                    return null;
                case "IsEnabled":
                    return (int)given[0] >= lowest;
                case "Log": // level, event id, state, exception, formatter
                    int level = (int)given[0];
                    if (level >= lowest && level < Levels.Length)
                    {
                        object message = ((Delegate)given[4]).DynamicInvoke(given[2], given[3]);
                        Console.Out.WriteLine(call.LogLine(Levels[level], (string)message));
                    }
                    return null;
                default: // BeginScope
                    return null;
            }
        }
    }
}
