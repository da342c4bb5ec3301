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
            AppDomain.CurrentDomain.SetData("APP_CONTEXT_BASE_DIRECTORY", code + "/"); // where applications look for settings
            AssemblyLoadContext.Default.Resolving += (context, name) =>
            {
                string path = Path.Combine(_code, name.Name + ".dll");
                return File.Exists(path) ? context.LoadFromAssemblyPath(path) : null;
            };
        }

        /// <summary>Serve a call; what an HTTP handler writes may go out by <paramref name="parts"/> before it ends.</summary>
        public Answer Perform(Call call, Parts parts)
        {
            int kind = call.Number("x-fc-function-type");
            MethodInfo method;
            object owner;
            lock (_methods)
            {
                method = Find(call.Field(Hooks[kind]));
                owner = method.IsStatic ? null : Owner(method.ReflectedType);
            }
            if (kind != 0)
            {
                Result(method, owner, type => Given(type, call, null));
                return new Answer("response", new byte[0]);
            }
            if (call.IsHttp != Http.IsServedBy(method))
            {
                throw new ArgumentException(
                    call.IsHttp ? "A handler of an HTTP trigger takes an HttpRequest and an HttpResponse"
                    : "A handler that takes an HttpRequest serves no events");
            }
            if (call.IsHttp)
            {
                Http http = new Http(call, parts);
                return http.Answer(Result(method, owner, http.Given));
            }
            Serializer serializer = new Serializer(method);
            object result = Result(method, owner, type => Given(type, call, serializer));
            return new Answer("response", Bytes(result, ResultType(method), serializer));
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

        private static byte[] Bytes(object result, Type type, Serializer serializer)
        {
            if (type == typeof(void))
            {
                return new byte[0];
            }
            return typeof(Stream).IsAssignableFrom(type) ? Content((Stream)result) : serializer.Write(result, type);
        }

        /// <summary>Return the type of what a method returns, or its task ends with.</summary>
        private static Type ResultType(MethodInfo method)
        {
            Type type = method.ReturnType;
            if (!typeof(Task).IsAssignableFrom(type))
            {
                return type;
            }
            return type.IsGenericType ? type.GetGenericArguments()[0] : typeof(void);
        }

        /// <summary>Call a method and return its result, or that of its task, null when there is none.</summary>
        private static object Result(MethodInfo method, object owner, Func<Type, object> given)
        {
            object result = Run(method, owner, method.GetParameters().Select(p => given(p.ParameterType)).ToArray());
            if (!typeof(Task).IsAssignableFrom(method.ReturnType))
            {
                return result;
            }
            Wait((Task)result);
            return method.ReturnType.IsGenericType ? method.ReturnType.GetProperty("Result").GetValue(result) : null;
        }

        private static object Run(MethodInfo method, object owner, object[] given)
        {
            bool isAsyncVoid = method.ReturnType == typeof(void)
                && method.IsDefined(typeof(AsyncStateMachineAttribute), false);
            return isAsyncVoid ? Unreturned.Run(() => method.Invoke(owner, given)) : method.Invoke(owner, given);
        }

        /// <summary>Wait for a task; its exception is thrown as reflection throws one.</summary>
        public static void Wait(Task task)
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
        public static byte[] Content(Stream result)
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
                Http.Place(type, _code);
                owner = _owners[type] = Activator.CreateInstance(type);
            }
            return owner;
        }
    }
}
