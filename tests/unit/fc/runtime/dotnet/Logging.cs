// What Aliyun.Serverless.Core needs of Microsoft.Extensions.Logging.Abstractions: the names are the contract.
using System;

namespace Microsoft.Extensions.Logging
{
    public enum LogLevel { Trace, Debug, Information, Warning, Error, Critical, None }

    public struct EventId { }

    public interface ILogger
    {
        void Log<TState>(
            LogLevel level, EventId id, TState state, Exception exception, Func<TState, Exception, string> formatter);

        bool IsEnabled(LogLevel level);

        IDisposable BeginScope<TState>(TState state);
    }

    public static class LoggerExtensions
    {
        public static void Say(this ILogger logger, LogLevel level, string text)
        {
            logger.Log(level, default(EventId), text, null, (state, exception) => state);
        }
    }
}
