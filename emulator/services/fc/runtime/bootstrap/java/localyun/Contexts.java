package localyun;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The context of a call, as objects of the platform's interfaces. */
final class Contexts {
    private static final List<String> LEVELS = Arrays.asList("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL");

    private Contexts() {}

    static Object of(Call call) throws ClassNotFoundException {
        Map<String, Object> values = new HashMap<>();
        values.put("getRequestId", call.requestId());
        values.put("getRetryCount", call.number("x-fc-retry-count"));
        values.put("getExecutionCredentials", getters("Credentials", call, name -> call.field("x-fc-" + dashed(name))));
        values.put("getFunctionParam", getters("FunctionParam", call, name -> parameter(call, name)));
        values.put("getService", getters("Service", call, name -> service(call, name)));
        values.put("getTracing", getters("OpenTracing", call, name -> tracing(call, name)));
        values.put("getLogger", logger(call));
        return getters("Context", call, values::get);
    }

    private static Object getters(String form, Call call, Function<String, Object> value) throws ClassNotFoundException {
        return implement(Functions.platform(form), form + " of " + call.requestId(), (self, method, arguments) ->
            value.apply(method.getName()));
    }

    /** Return an object of an interface whose methods, but for those every object has, are {@code handler}'s. */
    static Object implement(Class<?> form, String shown, InvocationHandler handler) {
        return Proxy.newProxyInstance(form.getClassLoader(), new Class<?>[] {form}, (self, method, arguments) -> {
            if (method.getDeclaringClass() != Object.class) {
                return handler.invoke(self, method, arguments);
            }
            switch (method.getName()) {
                case "equals":
                    return self == arguments[0];
                case "hashCode":
                    return System.identityHashCode(self);
                default:
                    return shown;
            }
        });
    }

    private static Object parameter(Call call, String name) {
        switch (name) {
            case "getExecTimeLimitInMillis":
                return call.number("x-fc-function-timeout") * 1000;
            case "getMemoryLimitInMB":
                return call.number("x-fc-function-memory");
            default: // getFunctionName, getFunctionHandler, getFunctionInitializer
                return call.field("x-fc-" + dashed(name));
        }
    }

    private static Object service(Call call, String name) {
        switch (name) {
            case "getQualifier":
            case "getVersionId":
                return call.field("x-fc-" + dashed(name));
            case "getLogProject":
            case "getLogStore":
                return call.field("x-fc-service-" + dashed(name).replace("-", ""));
            default:
                return call.field("x-fc-service-" + dashed(name));
        }
    }

    private static Object tracing(Call call, String name) {
        switch (name) {
            case "getSpanContext":
                return call.field("x-fc-tracing-opentracing-span-context");
            case "getJaegerEndpoint":
                return call.field("x-fc-tracing-jaeger-endpoint");
            default:
                Map<String, Object> baggages = new HashMap<>();
                String encoded = call.field("x-fc-tracing-opentracing-span-baggages");
                if (!encoded.isEmpty()) {
                    String text = new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
                    ((Map<?, ?>) Json.read(text)).forEach((key, value) -> baggages.put((String) key, value));
                }
                baggages.putAll(call.fieldsBelow("x-fc-tracing-opentracing-span-context-baggage-"));
                return baggages;
        }
    }

    private static Object logger(Call call) throws ClassNotFoundException {
        int[] lowest = {LEVELS.indexOf("INFO")};
        return implement(Functions.platform("FunctionComputeLogger"), "logger", (self, method, arguments) -> {
            if (method.getName().equals("setLogLevel")) {
                lowest[0] = LEVELS.indexOf(String.valueOf(arguments[0]));
            } else {
                String level = method.getName().toUpperCase(java.util.Locale.ROOT);
                if (LEVELS.indexOf(level) >= lowest[0]) {
                    System.out.println(call.logLine(level, String.valueOf(arguments[0])));
                }
            }
            return null;
        });
    }

    /** Return the name of a getter as the fields' names are written: getAccessKeyId is access-key-id. */
    private static String dashed(String getter) {
        return getter.substring(3).replaceAll("([a-z])([A-Z])", "$1-$2").toLowerCase(java.util.Locale.ROOT);
    }
}
