package localyun;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Events as plain objects of the user's classes, and results as JSON: properties are public fields, setters, getters. */
final class Pojos {
    private Pojos() {}

    /** Return the event as the type that a handler takes; throws IllegalArgumentException when it does not fit. */
    static Object read(String event, Type type) throws ReflectiveOperationException {
        if (type == String.class && !event.startsWith("\"")) {
            return event;
        }
        return event.trim().isEmpty() ? null : fit(Json.read(event), type);
    }

    /** Return a result as JSON text; a string is a JSON string too. */
    static String write(Object result) throws ReflectiveOperationException {
        return Json.write(plain(result));
    }

    private static Object fit(Object value, Type type) throws ReflectiveOperationException {
        Class<?> form = raw(type);
        if (value == null || form == Object.class) {
            return value;
        }
        if (form == String.class) {
            return value instanceof Map || value instanceof List ? Json.write(value) : String.valueOf(value);
        }
        if (form == boolean.class || form == Boolean.class) {
            return value;
        }
        if (form.isPrimitive() || Number.class.isAssignableFrom(form)) {
            return number(value, form);
        }
        if (value instanceof Map) {
            return Map.class.isAssignableFrom(form) ? map((Map<?, ?>) value, type) : bean((Map<?, ?>) value, form);
        }
        if (value instanceof List) {
            return items((List<?>) value, type, form);
        }
        if (form.isEnum()) {
            return Enum.class.getMethod("valueOf", Class.class, String.class).invoke(null, form, value);
        }
        throw new IllegalArgumentException("the event does not fit " + type.getTypeName());
    }

    private static Class<?> raw(Type type) {
        if (type instanceof Class) {
            return (Class<?>) type;
        }
        return type instanceof ParameterizedType ? (Class<?>) ((ParameterizedType) type).getRawType() : Object.class;
    }

    private static Type parameter(Type type, int index) {
        if (!(type instanceof ParameterizedType)) {
            return Object.class;
        }
        Type found = ((ParameterizedType) type).getActualTypeArguments()[index];
        return found instanceof WildcardType ? ((WildcardType) found).getUpperBounds()[0] : found;
    }

    private static Object number(Object value, Class<?> form) {
        if (form == char.class) {
            return String.valueOf(value).charAt(0);
        }
        BigDecimal number = new BigDecimal(String.valueOf(value));
        if (form == int.class || form == Integer.class) {
            return number.intValue();
        }
        if (form == long.class || form == Long.class) {
            return number.longValue();
        }
        if (form == double.class || form == Double.class) {
            return number.doubleValue();
        }
        if (form == float.class || form == Float.class) {
            return number.floatValue();
        }
        if (form == short.class || form == Short.class) {
            return number.shortValue();
        }
        if (form == byte.class || form == Byte.class) {
            return number.byteValue();
        }
        return form == BigInteger.class ? (Object) number.toBigInteger() : (Object) number;
    }

    private static Object map(Map<?, ?> members, Type type) throws ReflectiveOperationException {
        Map<Object, Object> made = new LinkedHashMap<>();
        for (Map.Entry<?, ?> member : members.entrySet()) {
            made.put(fit(member.getKey(), parameter(type, 0)), fit(member.getValue(), parameter(type, 1)));
        }
        return made;
    }

    private static Object items(List<?> values, Type type, Class<?> form) throws ReflectiveOperationException {
        if (form.isArray()) {
            Object made = Array.newInstance(form.getComponentType(), values.size());
            for (int index = 0; index < values.size(); index++) {
                Array.set(made, index, fit(values.get(index), form.getComponentType()));
            }
            return made;
        }
        Collection<Object> made = Set.class.isAssignableFrom(form) ? new HashSet<>() : new ArrayList<>();
        for (Object value : values) {
            made.add(fit(value, parameter(type, 0)));
        }
        return made;
    }

    private static Object bean(Map<?, ?> members, Class<?> form) throws ReflectiveOperationException {
        Object made = form.getDeclaredConstructor().newInstance();
        for (Method method : form.getMethods()) {
            String name = property(method.getName(), "set");
            if (method.getParameterCount() == 1 && members.containsKey(name)) {
                method.setAccessible(true);
                method.invoke(made, fit(members.get(name), method.getGenericParameterTypes()[0]));
            }
        }
        for (Field field : form.getFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && members.containsKey(field.getName())) {
                field.set(made, fit(members.get(field.getName()), field.getGenericType()));
            }
        }
        return made;
    }

    private static Object plain(Object value) throws ReflectiveOperationException {
        if (value == null || value instanceof Number || value instanceof Boolean || value instanceof String) {
            return value;
        }
        if (value instanceof Enum || value.getClass().getName().startsWith("java.time.") || value instanceof Character) {
            return String.valueOf(value);
        }
        if (value instanceof Map) {
            Map<Object, Object> made = new LinkedHashMap<>();
            for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
                made.put(member.getKey(), plain(member.getValue()));
            }
            return made;
        }
        if (value instanceof Collection) {
            List<Object> made = new ArrayList<>();
            for (Object item : (Collection<?>) value) {
                made.add(plain(item));
            }
            return made;
        }
        if (value.getClass().isArray()) {
            List<Object> made = new ArrayList<>();
            for (int index = 0; index < Array.getLength(value); index++) {
                made.add(plain(Array.get(value, index)));
            }
            return made;
        }
        return properties(value);
    }

    private static Map<String, Object> properties(Object value) throws ReflectiveOperationException {
        Map<String, Object> made = new TreeMap<>();
        for (Field field : value.getClass().getFields()) {
            if (!Modifier.isStatic(field.getModifiers())) {
                made.put(field.getName(), plain(field.get(value)));
            }
        }
        for (Method method : value.getClass().getMethods()) {
            for (String prefix : Arrays.asList("get", "is")) {
                String name = property(method.getName(), prefix);
                boolean own = method.getDeclaringClass() != Object.class && !Modifier.isStatic(method.getModifiers());
                if (own && method.getParameterCount() == 0 && name != null) {
                    method.setAccessible(true);
                    made.put(name, plain(method.invoke(value)));
                }
            }
        }
        return Collections.unmodifiableMap(made);
    }

    /** Return the name of the property that a method with that prefix is for, null when it is for none. */
    private static String property(String method, String prefix) {
        if (!method.startsWith(prefix) || method.length() == prefix.length()) {
            return null;
        }
        char first = method.charAt(prefix.length());
        return Character.isUpperCase(first) ? Character.toLowerCase(first) + method.substring(prefix.length() + 1) : null;
    }
}
