package localyun;

import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** One call as the runtime interface hands it out: header fields and the event. */
final class Call {
    static final String HTTP_FIELD = "x-fc-http-params";
    static final String STREAM_FIELD = "x-localyun-stream";
    private static final DateTimeFormatter TIME =
        DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

    final byte[] event;
    private final Map<String, String> fields = new HashMap<>();

    Call(HttpURLConnection answer, byte[] event) {
        this.event = event;
        answer.getHeaderFields().forEach((name, values) -> {
            if (name != null) {
                fields.put(name.toLowerCase(Locale.ROOT), values.get(0));
            }
        });
    }

    /** Return a header field, empty when there is none. */
    String field(String name) {
        return fields.getOrDefault(name, "");
    }

    int number(String name) {
        String value = field(name);
        return value.isEmpty() ? 0 : Integer.parseInt(value);
    }

    String requestId() {
        return field("x-fc-request-id");
    }

    /** Return the fields whose names begin with {@code prefix}, without it. */
    Map<String, String> fieldsBelow(String prefix) {
        Map<String, String> found = new HashMap<>();
        fields.forEach((name, value) -> {
            if (name.startsWith(prefix)) {
                found.put(name.substring(prefix.length()), value);
            }
        });
        return found;
    }

    /** Return the HTTP request that the function serves, null for an event. */
    @SuppressWarnings("unchecked")
    Map<String, Object> http() {
        String encoded = field(HTTP_FIELD);
        if (encoded.isEmpty()) {
            return null;
        }
        return (Map<String, Object>) Json.read(new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8));
    }

    /** Return a line of the log as the context's logger writes it. */
    String logLine(String level, String message) {
        return TIME.format(Instant.now()) + " " + requestId() + " [" + level + "] " + message;
    }
}
