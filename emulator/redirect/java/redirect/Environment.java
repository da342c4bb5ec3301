package redirect;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.Map;
import java.util.Set;

/**
 * The environment variables as this virtual machine shows them: clients that read the proxy there, and cannot log in to
 * it, find the agent's socket instead. The system has no call for it, so the map behind System.getenv is changed.
 */
final class Environment {
    private Environment() {}

    /** Let every variable that holds {@code old} hold {@code other}, but for the one that the agent itself reads. */
    @SuppressWarnings("unchecked")
    static void replace(Instrumentation machine, String old, String other) throws ReflectiveOperationException {
        Map<String, String> shown = System.getenv();
        open(machine, shown.getClass());
        Field behind = shown.getClass().getDeclaredField("m");
        behind.setAccessible(true);
        Map<String, String> kept = (Map<String, String>) behind.get(shown);
        for (String name : kept.keySet().toArray(new String[0])) {
            if (old.equals(kept.get(name)) && !name.startsWith("LOCALYUN_")) {
                kept.put(name, other);
            }
        }
    }

    /** Open the package of {@code form} to this class, which virtual machines with modules (9 and newer) keep closed. */
    private static void open(Instrumentation machine, Class<?> form) throws ReflectiveOperationException {
        Method moduleOf;
        try {
            moduleOf = Class.class.getMethod("getModule");
        } catch (NoSuchMethodException none) {
            return; // Java 8
        }
        Object base = moduleOf.invoke(form);
        Map<String, Set<Object>> opens = Collections.singletonMap(
            form.getPackage().getName(), Collections.singleton(moduleOf.invoke(Environment.class)));
        for (Method method : Instrumentation.class.getMethods()) {
            if (method.getName().equals("redefineModule")) {
                method.invoke(machine, base, Collections.emptySet(), Collections.emptyMap(), opens,
                    Collections.emptySet(), Collections.emptyMap());
            }
        }
    }
}
