package localyun;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * The user's handlers and hooks: found by their names at the first call, kept for the life of the instance.
 *
 * <p>Interfaces of the platform are those of the user's own class path, so nothing of it is needed to build this agent.
 *
 * <p>Source: fc-java-core, package com.aliyun.fc.runtime; Function Compute, Java runtimes: handlers.
 */
final class Functions {
    private static final String PLATFORM = "com.aliyun.fc.runtime.";
    private static final String[] HOOKS = {null, "FunctionInitializer", "PreStopHandler", "PreFreezeHandler"};
    private static final String[] HOOK_FIELDS = {
        null, "x-fc-function-initializer", "x-fc-instance-lifecycle-pre-stop-handler",
        "x-fc-instance-lifecycle-pre-freeze-handler",
    };
    private final Map<String, Object> made = new HashMap<>();

    Agent.Answer perform(Call call, Http.Parts parts) throws Exception {
        int kind = call.number("x-fc-function-type");
        if (kind == 0) {
            return call.http() == null ? event(call) : request(call, parts);
        }
        String handler = call.field(HOOK_FIELDS[kind]);
        Object owner = owner(handler);
        find(owner, handler, required(owner, HOOKS[kind], handler)).invoke(owner, Contexts.of(call));
        return new Agent.Answer("response", new byte[0], null);
    }

    private Agent.Answer event(Call call) throws Exception {
        String handler = call.field("x-fc-function-handler");
        Object owner = owner(handler);
        if (platform("StreamRequestHandler").isInstance(owner)) {
            ByteArrayOutputStream output = new ByteArrayOutputStream();
            Method method = find(owner, handler, platform("StreamRequestHandler"));
            method.invoke(owner, new ByteArrayInputStream(call.event), output, Contexts.of(call));
            return new Agent.Answer("response", output.toByteArray(), null);
        }
        Method method = find(owner, handler, required(owner, "PojoRequestHandler", handler));
        String text = new String(call.event, StandardCharsets.UTF_8);
        Object result = method.invoke(owner, Pojos.read(text, method.getGenericParameterTypes()[0]), Contexts.of(call));
        return new Agent.Answer("response", Pojos.write(result).getBytes(StandardCharsets.UTF_8), null);
    }

    private Agent.Answer request(Call call, Http.Parts parts) throws Exception {
        String handler = call.field("x-fc-function-handler");
        Object owner = owner(handler);
        Method method = find(owner, handler, required(owner, "HttpRequestHandler", handler));
        Http http = new Http(call, parts);
        method.invoke(owner, http.request(), http.response(), Contexts.of(call));
        return new Agent.Answer("response", http.body(), http.described());
    }

    static Class<?> platform(String name) throws ClassNotFoundException {
        return Class.forName(PLATFORM + name);
    }

    private static Class<?> required(Object owner, String name, String handler) throws ClassNotFoundException {
        Class<?> wanted = platform(name);
        if (!wanted.isInstance(owner)) {
            String message = owner.getClass().getName() + " of the handler " + handler + " does not implement ";
            throw new IllegalArgumentException(message + wanted.getName());
        }
        return wanted;
    }

    /** Return the object that a handler {@code package.Class::method} belongs to. */
    private synchronized Object owner(String handler) throws ReflectiveOperationException {
        String[] parts = handler.split("::");
        if (parts.length != 2) {
            throw new IllegalArgumentException("Invalid handler '" + handler + "'");
        }
        Object owner = made.get(parts[0]);
        if (owner == null) {
            owner = Class.forName(parts[0]).getDeclaredConstructor().newInstance();
            made.put(parts[0], owner);
        }
        return owner;
    }

    /** Return the method of the handler's name that takes what the interface's method takes. */
    private static Method find(Object owner, String handler, Class<?> form) throws NoSuchMethodException {
        String name = handler.split("::")[1];
        Class<?>[] wanted = form.getMethods()[0].getParameterTypes();
        for (Method method : owner.getClass().getMethods()) {
            if (method.getName().equals(name) && !method.isBridge() && takes(method.getParameterTypes(), wanted)) {
                method.setAccessible(true); // the class may not be public
                return method;
            }
        }
        throw new NoSuchMethodException(handler);
    }

    private static boolean takes(Class<?>[] found, Class<?>[] wanted) {
        if (found.length != wanted.length) {
            return false;
        }
        for (int index = 0; index < found.length; index++) {
            if (!wanted[index].isAssignableFrom(found[index])) {
                return false;
            }
        }
        return true;
    }
}
