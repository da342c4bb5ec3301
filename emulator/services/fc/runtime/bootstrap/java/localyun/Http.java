package localyun;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.servlet.ReadListener;
import javax.servlet.ServletInputStream;
import javax.servlet.ServletOutputStream;
import javax.servlet.WriteListener;

/**
 * The request and the response of a handler that serves HTTP.
 *
 * <p>Source: Function Compute, Java runtimes: HTTP handlers, which the names of the attributes are from.
 */
final class Http {
    /** Takes what is written while the handler runs; the first piece comes with status and fields. */
    interface Parts {
        void send(byte[] piece, String described) throws IOException;
    }

    /** A body up to this many bytes whose length is told is sent at once; another waits for a flush or this many. */
    private static final int SHORT = 1024 * 1024;
    private static final int FULL = 64 * 1024;

    private final Call call;
    private final Map<String, Object> asked;
    private final Map<String, Object> attributes = new HashMap<>();
    private final TreeMap<String, List<String>> sent = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    private final TreeMap<String, List<String>> answered = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    private final ByteArrayOutputStream body = new ByteArrayOutputStream();
    private final Output output = new Output();
    private final PrintWriter writer = new PrintWriter(new OutputStreamWriter(output, StandardCharsets.UTF_8));
    private Parts parts;
    private boolean committed;
    private int status = 200;

    @SuppressWarnings("unchecked")
    Http(Call call, Parts parts) {
        this.call = call;
        this.parts = call.field(Call.STREAM_FIELD).isEmpty() ? null : parts;
        asked = call.http();
        sent.putAll((Map<String, List<String>>) asked.get("headersMap"));
        attributes.put("FC_REQUEST_PATH", asked.get("path"));
        attributes.put("FC_REQUEST_URI", asked.get("requestURI"));
        attributes.put("FC_REQUEST_CLIENT_IP", asked.get("clientIP"));
    }

    /** Return what has not been sent yet; nothing is sent from here on. */
    byte[] body() {
        parts = null;
        writer.flush();
        return body.toByteArray();
    }

    private void commit() throws IOException {
        if (parts != null && !isShort() && (body.size() > 0 || !committed)) {
            parts.send(body.toByteArray(), committed ? null : described());
            committed = true;
            body.reset();
        }
    }

    private boolean isShort() {
        String length = first(answered, "Content-Length");
        return length != null && length.matches("[0-9]{1,9}") && Integer.parseInt(length) <= SHORT;
    }

    /** Return status and fields as the runtime interface takes them. */
    String described() {
        Map<String, Object> described = new LinkedHashMap<>();
        described.put("status", String.valueOf(status));
        described.put("headersMap", answered);
        return Base64.getEncoder().encodeToString(Json.write(described).getBytes(StandardCharsets.UTF_8));
    }

    Object request() throws ClassNotFoundException {
        Class<?> form = Class.forName("javax.servlet.http.HttpServletRequest");
        return Contexts.implement(form, asked.get("method") + " " + asked.get("requestURI"), (self, method, given) ->
            ask(method.getName(), given == null ? new Object[0] : given));
    }

    private Object ask(String name, Object[] given) {
        switch (name) {
            case "getMethod":
                return asked.get("method");
            case "getRequestURI":
                return parts()[0];
            case "getRequestURL":
                return new StringBuffer("http://" + asked.get("host") + parts()[0]);
            case "getQueryString":
                return parts().length > 1 ? parts()[1] : null;
            case "getPathInfo":
                return asked.get("path");
            case "getContextPath":
            case "getServletPath":
                return "";
            case "getRemoteAddr":
            case "getRemoteHost":
                return asked.get("clientIP");
            case "getServerName":
                return String.valueOf(asked.get("host")).split(":")[0];
            case "getScheme":
                return "http";
            case "getProtocol":
                return "HTTP/1.1";
            case "getContentType":
                return first(sent, "Content-Type");
            case "getCharacterEncoding":
                return "UTF-8";
            case "getContentLength":
                return call.event.length;
            case "getContentLengthLong":
                return (long) call.event.length;
            case "getHeader":
                return first(sent, (String) given[0]);
            case "getIntHeader":
                return first(sent, (String) given[0]) == null ? -1 : Integer.parseInt(first(sent, (String) given[0]));
            case "getHeaders":
                return Collections.enumeration(sent.getOrDefault(given[0], Collections.emptyList()));
            case "getHeaderNames":
                return Collections.enumeration(sent.keySet());
            case "getAttribute":
                return attributes.get(given[0]);
            case "getAttributeNames":
                return Collections.enumeration(attributes.keySet());
            case "setAttribute":
                return attributes.put((String) given[0], given[1]);
            case "getParameter":
                return first(parameters(), (String) given[0]);
            case "getParameterNames":
                return Collections.enumeration(parameters().keySet());
            case "getParameterValues":
                List<String> values = parameters().get(given[0]);
                return values == null ? null : values.toArray(new String[0]);
            case "getParameterMap":
                Map<String, String[]> map = new LinkedHashMap<>();
                parameters().forEach((key, found) -> map.put(key, found.toArray(new String[0])));
                return map;
            case "getInputStream":
                return new Input(call.event);
            case "getReader":
                return new BufferedReader(new InputStreamReader(new Input(call.event), StandardCharsets.UTF_8));
            default:
                throw new UnsupportedOperationException("HttpServletRequest." + name);
        }
    }

    Object response() throws ClassNotFoundException {
        Class<?> form = Class.forName("javax.servlet.http.HttpServletResponse");
        return Contexts.implement(form, "response to " + call.requestId(), (self, method, given) ->
            tell(method.getName(), given == null ? new Object[0] : given));
    }

    private Object tell(String name, Object[] given) throws IOException {
        switch (name) {
            case "setStatus":
            case "sendError":
                status = (Integer) given[0];
                return name.equals("sendError") && given.length > 1 ? print((String) given[1]) : null;
            case "getStatus":
                return status;
            case "sendRedirect":
                status = 302;
                return answered.put("Location", list(given[0]));
            case "setHeader":
            case "setIntHeader":
                return answered.put((String) given[0], list(given[1]));
            case "addHeader":
            case "addIntHeader":
                return answered.computeIfAbsent((String) given[0], key -> new ArrayList<>()).add(String.valueOf(given[1]));
            case "setContentType":
                return answered.put("Content-Type", list(given[0]));
            case "getContentType":
                return first(answered, "Content-Type");
            case "containsHeader":
                return answered.containsKey(given[0]);
            case "getHeader":
                return first(answered, (String) given[0]);
            case "getHeaders":
                return answered.getOrDefault(given[0], Collections.emptyList());
            case "getHeaderNames":
                return answered.keySet();
            case "getOutputStream":
                return output;
            case "getWriter":
                return writer;
            case "getCharacterEncoding":
                return "UTF-8";
            case "isCommitted":
                return committed;
            case "reset":
            case "resetBuffer":
                return discard();
            case "flushBuffer":
                writer.flush();
                return null;
            case "setContentLength":
            case "setContentLengthLong":
                return answered.put("Content-Length", list(given[0]));
            case "encodeURL":
            case "encodeRedirectURL":
                return given[0];
            case "setCharacterEncoding":
            case "setBufferSize":
                return null; // texts are sent in UTF-8
            default:
                throw new UnsupportedOperationException("HttpServletResponse." + name);
        }
    }

    private Object discard() {
        if (committed) {
            throw new IllegalStateException("a part of the answer has been sent");
        }
        Parts kept = parts;
        body();
        body.reset();
        parts = kept;
        return null;
    }

    private Object print(String text) {
        writer.print(text);
        return null;
    }

    private static List<String> list(Object value) {
        return new ArrayList<>(Collections.singletonList(String.valueOf(value)));
    }

    private String[] parts() {
        return String.valueOf(asked.get("requestURI")).split("\\?", 2);
    }

    private Map<String, List<String>> parameters() {
        Map<String, List<String>> found = new LinkedHashMap<>();
        if (parts().length > 1) {
            collect(parts()[1], found);
        }
        String type = first(sent, "Content-Type");
        if (type != null && type.startsWith("application/x-www-form-urlencoded")) {
            collect(new String(call.event, StandardCharsets.UTF_8), found);
        }
        return found;
    }

    private static void collect(String query, Map<String, List<String>> into) {
        for (String pair : query.split("&")) {
            String[] parts = pair.split("=", 2);
            if (!pair.isEmpty()) {
                String value = parts.length > 1 ? decoded(parts[1]) : "";
                into.computeIfAbsent(decoded(parts[0]), key -> new ArrayList<>()).add(value);
            }
        }
    }

    private static String decoded(String text) {
        try {
            return java.net.URLDecoder.decode(text, "UTF-8");
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static String first(Map<String, List<String>> fields, String name) {
        List<String> values = fields.get(name);
        return values == null || values.isEmpty() ? null : values.get(0);
    }

    private static final class Input extends ServletInputStream {
        private final ByteArrayInputStream source;

        Input(byte[] content) {
            source = new ByteArrayInputStream(content);
        }

        @Override
        public int read() {
            return source.read();
        }

        @Override
        public boolean isFinished() {
            return source.available() == 0;
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void setReadListener(ReadListener listener) {
            throw new IllegalStateException("requests are not served asynchronously");
        }
    }

    private final class Output extends ServletOutputStream {
        @Override
        public void write(int octet) throws IOException {
            write(new byte[] {(byte) octet}, 0, 1);
        }

        @Override
        public synchronized void write(byte[] source, int from, int size) throws IOException {
            body.write(source, from, size);
            if (body.size() >= FULL) {
                commit();
            }
        }

        @Override
        public synchronized void flush() throws IOException {
            commit();
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void setWriteListener(WriteListener listener) {
            throw new IllegalStateException("requests are not served asynchronously");
        }
    }
}
