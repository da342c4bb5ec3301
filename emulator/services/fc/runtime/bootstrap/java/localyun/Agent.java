package localyun;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The loop of one instance: wait for a call at the runtime interface, run the user's code, post the answer.
 *
 * <p>Calls run in threads of their own, so that an instance can serve several at once.
 */
public final class Agent {
    private final String base = "http://" + System.getenv("FC_RUNTIME_API") + "/2020-11-11/runtime/invocation/";
    private final Functions functions = new Functions();

    public static void main(String[] arguments) throws IOException {
        System.setProperty("sun.net.http.retryPost", "false"); // an answer must not be posted twice
        new Agent().run();
    }

    private void run() throws IOException {
        ExecutorService threads = Executors.newCachedThreadPool();
        while (true) {
            Call call = next();
            threads.execute(() -> serve(call));
        }
    }

    private Call next() throws IOException {
        HttpURLConnection connection = open("next");
        if (connection.getResponseCode() != 200) {
            System.exit(1); // the emulator no longer knows this instance
        }
        return new Call(connection, read(connection.getInputStream()));
    }

    private void serve(Call call) {
        try {
            Answer answer;
            try {
                answer = functions.perform(call, (piece, http) ->
                    post(call.requestId() + "/part", new Answer("part", piece, http)));
            } catch (Throwable failure) { // whatever user code throws is the caller's
                Failure described = Failure.of(failure);
                System.err.println(call.logLine("ERROR", described.text()));
                answer = new Answer("error", Json.write(described.fields()).getBytes("UTF-8"), null);
            }
            System.out.flush();
            System.err.flush();
            post(call.requestId() + "/" + answer.kind, answer);
        } catch (IOException lost) {
            System.exit(1); // the emulator has gone, and with it the caller
        }
    }

    private void post(String page, Answer answer) throws IOException {
        HttpURLConnection connection = open(page);
        connection.setRequestMethod("POST");
        connection.setDoOutput(true);
        connection.setFixedLengthStreamingMode(answer.body.length);
        connection.setRequestProperty("Content-Type", "application/octet-stream");
        if (answer.http != null) {
            connection.setRequestProperty(Call.HTTP_FIELD, answer.http);
        }
        try (OutputStream body = connection.getOutputStream()) {
            body.write(answer.body);
        }
        int status = connection.getResponseCode();
        InputStream rest = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        if (rest != null) {
            read(rest); // so that the connection is kept
        }
    }

    private HttpURLConnection open(String page) throws IOException {
        return (HttpURLConnection) new URL(base + page).openConnection(Proxy.NO_PROXY);
    }

    static byte[] read(InputStream source) throws IOException {
        try (InputStream open = source) {
            ByteArrayOutputStream target = new ByteArrayOutputStream();
            byte[] piece = new byte[65536];
            for (int size = open.read(piece); size >= 0; size = open.read(piece)) {
                target.write(piece, 0, size);
            }
            return target.toByteArray();
        }
    }

    /** What a call is answered with; {@code http} holds status and fields of an answer to an HTTP request. */
    static final class Answer {
        final String kind;
        final byte[] body;
        final String http;

        Answer(String kind, byte[] body, String http) {
            this.kind = kind;
            this.body = body;
            this.http = http;
        }
    }
}
