using System;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace Localyun
{
    /// <summary>JSON by the runtime's own library.</summary>
    public static class JsonText
    {
        private static readonly JsonSerializerOptions Options = new JsonSerializerOptions
        {
            Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
            PropertyNameCaseInsensitive = true,
        };

        public static object Read(byte[] text, Type type)
        {
            return JsonSerializer.Deserialize(text, type, Options);
        }

        public static byte[] Write(object value)
        {
            return JsonSerializer.SerializeToUtf8Bytes(value, value == null ? typeof(object) : value.GetType(), Options);
        }
    }

    /// <summary>
    /// What reads inputs and writes results that are no streams: the serializer that an attribute of the handler or of
    /// its assembly names, else Json.NET when the package has it, else the runtime's own library.
    /// Source: fc-dotnet-libs, FcSerializerAttribute and IFcSerializer.
    /// </summary>
    public sealed class Serializer
    {
        private readonly object _named;
        private readonly Type _jsonNet;

        public Serializer(MethodInfo method)
        {
            Attribute mark = Mark(method) ?? Mark(method.DeclaringType.Assembly);
            if (mark != null)
            {
                _named = Activator.CreateInstance((Type)mark.GetType().GetProperty("SerializerType").GetValue(mark));
            }
            else
            {
                _jsonNet = Type.GetType("Newtonsoft.Json.JsonConvert, Newtonsoft.Json", false);
            }
        }

        public object Read(byte[] text, Type type)
        {
            if (_named != null)
            {
                return Method("Deserialize", type).Invoke(_named, new object[] { new MemoryStream(text) });
            }
            if (_jsonNet != null)
            {
                MethodInfo read = _jsonNet.GetMethod("DeserializeObject", new[] { typeof(string), typeof(Type) });
                return read.Invoke(null, new object[] { Encoding.UTF8.GetString(text), type });
            }
            return JsonText.Read(text, type);
        }

        public byte[] Write(object value, Type type)
        {
            if (_named != null)
            {
                MemoryStream target = new MemoryStream();
                Method("Serialize", type).Invoke(_named, new[] { value, target });
                return target.ToArray();
            }
            if (_jsonNet != null)
            {
                MethodInfo write = _jsonNet.GetMethod("SerializeObject", new[] { typeof(object) });
                return Encoding.UTF8.GetBytes((string)write.Invoke(null, new[] { value }));
            }
            return JsonText.Write(value);
        }

        private MethodInfo Method(string name, Type type)
        {
            Type form = _named.GetType().GetInterface("Aliyun.Serverless.Core.IFcSerializer");
            return form.GetMethod(name).MakeGenericMethod(type);
        }

        private static Attribute Mark(ICustomAttributeProvider marked)
        {
            return marked.GetCustomAttributes(true).Cast<Attribute>()
                .FirstOrDefault(found => found.GetType().FullName == "Aliyun.Serverless.Core.FcSerializerAttribute");
        }
    }
}
