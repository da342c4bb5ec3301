package localyun;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, strings, numbers, booleans and null. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Return the value that {@code text} holds; throws IllegalArgumentException for what is no JSON. */
    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.space();
        if (json.at < text.length()) {
            throw json.wrong();
        }
        return value;
    }

    static String write(Object value) {
        StringBuilder target = new StringBuilder();
        append(target, value);
        return target.toString();
    }

    private Object value() {
        space();
        char first = peek();
        switch (first) {
            case '{':
                return object();
            case '[':
                return list();
            case '"':
                return string();
            case 't':
                return word("true", true);
            case 'f':
                return word("false", false);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        for (char next = opened('}'); next != '}'; next = following('}')) {
            space();
            String name = string();
            space();
            expect(':');
            members.put(name, value());
        }
        return members;
    }

    private List<Object> list() {
        List<Object> items = new ArrayList<>();
        for (char next = opened(']'); next != ']'; next = following(']')) {
            items.add(value());
        }
        return items;
    }

    private char opened(char end) {
        at++;
        space();
        if (peek() == end) {
            at++;
            return end;
        }
        return ',';
    }

    private char following(char end) {
        space();
        char next = peek();
        if (next != ',' && next != end) {
            throw wrong();
        }
        at++;
        return next;
    }

    private String string() {
        expect('"');
        StringBuilder found = new StringBuilder();
        while (peek() != '"') {
            char letter = text.charAt(at++);
            found.append(letter == '\\' ? escaped() : letter);
        }
        at++;
        return found.toString();
    }

    private char escaped() {
        char letter = peek();
        at++;
        int known = "\"\\/bfnrt".indexOf(letter);
        if (known >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(known);
        }
        if (letter != 'u' || at + 4 > text.length()) {
            throw wrong();
        }
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        try {
            BigDecimal number = new BigDecimal(text.substring(start, at));
            boolean whole = text.substring(start, at).matches("-?\\d{1,18}");
            return whole ? (Object) number.longValueExact() : (Object) number;
        } catch (NumberFormatException error) {
            throw wrong();
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong();
        }
        at += word.length();
        return value;
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong();
        }
        return text.charAt(at);
    }

    private void expect(char letter) {
        if (peek() != letter) {
            throw wrong();
        }
        at++;
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("no JSON at character " + at);
    }

    private static void append(StringBuilder target, Object value) {
        if (value instanceof Map) {
            String between = "{";
            for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
                target.append(between);
                quote(target, String.valueOf(member.getKey()));
                target.append(':');
                append(target, member.getValue());
                between = ",";
            }
            target.append(between.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable) {
            String between = "[";
            for (Object item : (Iterable<?>) value) {
                target.append(between);
                append(target, item);
                between = ",";
            }
            target.append(between.equals("[") ? "[]" : "]");
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            target.append(value);
        } else {
            quote(target, String.valueOf(value));
        }
    }

    private static void quote(StringBuilder target, String text) {
        target.append('"');
        for (char letter : text.toCharArray()) {
            if (letter == '"' || letter == '\\') {
                target.append('\\').append(letter);
            } else if (letter < ' ') {
                target.append(String.format("\\u%04x", (int) letter));
            } else {
                target.append(letter);
            }
        }
        target.append('"');
    }
}
