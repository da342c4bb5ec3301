package localyun;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a caller gets of a failure: its type, its message, its cause and the frames of user code. */
final class Failure {
    private final Throwable cause;

    private Failure(Throwable cause) {
        this.cause = cause;
    }

    /** Take off what reflection has put around the exception of user code. */
    static Failure of(Throwable thrown) {
        Throwable inner = thrown;
        while ((inner instanceof InvocationTargetException || inner instanceof UndeclaredThrowableException)
            && inner.getCause() != null) {
            inner = inner.getCause();
        }
        return new Failure(inner);
    }

    Map<String, Object> fields() {
        Map<String, Object> fields = new LinkedHashMap<>();
        Throwable first = cause.getCause() == null ? cause : cause.getCause();
        fields.put("errorMessage", text(cause));
        fields.put("errorType", cause.getClass().getName());
        fields.put("errorCause", text(first));
        fields.put("stackTrace", frames());
        return fields;
    }

    String text() {
        StringBuilder text = new StringBuilder(cause.toString());
        frames().forEach(frame -> text.append("\n\tat ").append(frame));
        return text.toString();
    }

    private static String text(Throwable thrown) {
        return thrown.getMessage() == null ? thrown.getClass().getName() : thrown.getMessage();
    }

    private List<String> frames() {
        StackTraceElement[] trace = cause.getStackTrace();
        int end = 0;
        while (end < trace.length && !trace[end].getClassName().startsWith("localyun.")) {
            end++;
        }
        while (end > 0 && trace[end - 1].getClassName().matches("(java\\.lang|jdk\\.internal|sun)\\.reflect\\..*")) {
            end--;
        }
        List<String> frames = new ArrayList<>();
        for (int index = 0; index < end; index++) {
            frames.add(trace[index].toString());
        }
        return frames;
    }
}
