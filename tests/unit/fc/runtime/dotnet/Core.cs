// The interfaces of Aliyun.Serverless.Core, which packages of users contain: names and members are the contract.
using System;
using System.IO;
using Microsoft.Extensions.Logging;

namespace Aliyun.Serverless.Core
{
    public interface IFcLogger : ILogger
    {
        LogLevel EnabledLogLevel { get; set; }
    }

    public interface ICredentials
    {
        string AccessKeyId { get; }
        string AccessKeySecret { get; }
        string SecurityToken { get; }
    }

    public interface IFunctionParameter
    {
        string FunctionName { get; }
        string FunctionHandler { get; }
        string FunctionInitializer { get; }
        int MemoryLimitInMB { get; }
        TimeSpan FunctionTimeout { get; }
        TimeSpan InitializationTimeout { get; }
    }

    public interface IServiceMeta
    {
        string Name { get; }
        string LogProject { get; }
        string LogStore { get; }
        string Qualifier { get; }
        string VersionId { get; }
    }

    public interface IFcContext
    {
        string RequestId { get; }
        IFunctionParameter FunctionParam { get; }
        IFcLogger Logger { get; }
        ICredentials Credentials { get; }
        string AccountId { get; }
        string Region { get; }
        IServiceMeta ServiceMeta { get; }
    }

    public interface IFcSerializer
    {
        T Deserialize<T>(Stream source);
        void Serialize<T>(T value, Stream target);
    }

    [AttributeUsage(AttributeTargets.Method | AttributeTargets.Assembly)]
    public sealed class FcSerializerAttribute : Attribute
    {
        public FcSerializerAttribute(Type serializerType)
        {
            SerializerType = serializerType;
        }

        public Type SerializerType { get; set; }
    }
}
