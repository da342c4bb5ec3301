using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading.Tasks;

namespace Localyun
{
    /// <summary>
    /// The user's handlers and hooks: found by their names at the first call, kept for the life of the instance.
    /// Interfaces of the platform are those of the user's own package, so nothing of it is needed to build this agent.
    /// Source: Function Compute, C# runtimes: handlers, initializers; fc-dotnet-libs README.
    /// </summary>
    public sealed class Functions
    {
        private static readonly string[] Hooks =
        {
            "x-fc-function-handler", "x-fc-function-initializer", "x-fc-instance-lifecycle-pre-stop-handler",
            "x-fc-instance-lifecycle-pre-freeze-handler",
        };
        private readonly string _code;
        private readonly Dictionary<string, MethodInfo> _methods = new Dictionary<string, MethodInfo>();
        private readonly Dictionary<Type, object> _owners = new Dictionary<Type, object>();

        public Functions(string code)
        {
            _code = code;
            AssemblyLoadContext.Default.Resolving += (context, name) =>
            {
                string path = Path.Combine(_code, name.Name + ".dll");
                return File.Exists(path) ? context.LoadFromAssemblyPath(path) : null;
            };
        }

        public byte[] Perform(Call call)
        {
            int kind = call.Number("x-fc-function-type");
            if (kind == 0 && call.IsHttp)
            {
                throw new NotSupportedException(
                    "the emulator has no FcHttpEntrypoint; publish a program that listens on FC_SERVER_PORT and run it on"
                    + " custom.debian10 or later");
            }
            MethodInfo method;
            object owner;
            lock (_methods)
            {
                method = Find(call.Field(Hooks[kind]));
                owner = method.IsStatic ? null : Owner(method.ReflectedType);
            }
            Serializer serializer = kind == 0 ? new Serializer(method) : null;
            object[] given = method.GetParameters().Select(p => Given(p.ParameterType, call, serializer)).ToArray();
            Type type = method.ReturnType;
            object result = Run(method, owner, given);
            if (typeof(Task).IsAssignableFrom(type))
            {
                Wait((Task)result);
                bool hasResult = type.IsGenericType;
                result = hasResult ? type.GetProperty("Result").GetValue(result) : null;
                type = hasResult ? type.GetGenericArguments()[0] : typeof(void);
            }
            if (serializer == null || type == typeof(void))
            {
                return new byte[0];
            }
            return typeof(Stream).IsAssignableFrom(type) ? Content((Stream)result) : serializer.Write(result, type);
        }

        private static object Given(Type type, Call call, Serializer serializer)
        {
            if (type.FullName == Contexts.Interface)
            {
                return Contexts.Of(type, call);
            }
            if (serializer == null)
            {
                return null;
            }
            return type == typeof(Stream) ? new MemoryStream(call.Event) : serializer.Read(call.Event, type);
        }

        private static object Run(MethodInfo method, object owner, object[] given)
        {
            bool isAsyncVoid = method.ReturnType == typeof(void)
                && method.IsDefined(typeof(AsyncStateMachineAttribute), false);
            return isAsyncVoid ? Unreturned.Run(() => method.Invoke(owner, given)) : method.Invoke(owner, given);
        }

        private static void Wait(Task task)
        {
            try
            {
                task.Wait();
            }
            catch (AggregateException failed)
            {
                throw new TargetInvocationException(failed.InnerException);
            }
        }

        /// <summary>Return all of a stream; a handler may leave one that it has written at its end.</summary>
        private static byte[] Content(Stream result)
        {
            using (MemoryStream target = new MemoryStream())
            {
                if (result != null)
                {
                    if (result.CanSeek)
                    {
                        result.Position = 0;
                    }
                    result.CopyTo(target);
                    result.Dispose();
                }
                return target.ToArray();
            }
        }

        /// <summary>Return the method that a handler Assembly::Namespace.Class::Method names.</summary>
        private MethodInfo Find(string handler)
        {
            MethodInfo method;
            if (_methods.TryGetValue(handler, out method))
            {
                return method;
            }
            string[] parts = handler.Split(new[] { "::" }, StringSplitOptions.None);
            if (parts.Length != 3 || parts.Contains(""))
            {
                throw new ArgumentException("Invalid handler '" + handler + "'");
            }
            Type type = Assembly.Load(new AssemblyName(parts[0])).GetType(parts[1], true);
            BindingFlags flags = BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static
                | BindingFlags.FlattenHierarchy;
            method = type.GetMethod(parts[2], flags);
            if (method == null)
            {
                throw new MissingMethodException(parts[1], parts[2]);
            }
            return _methods[handler] = method;
        }

        private object Owner(Type type)
        {
            object owner;
            if (!_owners.TryGetValue(type, out owner))
            {
                owner = _owners[type] = Activator.CreateInstance(type);
            }
            return owner;
        }
    }
}
