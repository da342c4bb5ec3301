package example;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The admin API of localyun; {@code localyun exec --start -- mvn test} sets the variables. */
final class Localyun {
    private static final String ENDPOINT = System.getenv("LOCALYUN_ENDPOINT");
    private static final String TOKEN = System.getenv("LOCALYUN_TOKEN");

    private final HttpClient client = HttpClient.newHttpClient();

    /** Call a page of the admin API and return its JSON text. */
    String admin(String method, String page, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(ENDPOINT + "/_localyun/" + page))
            .header("X-Localyun-Token", TOKEN)
            .header("Content-Type", "application/json")
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .build();
        HttpResponse<String> answer = client.send(request, BodyHandlers.ofString());
        if (answer.statusCode() >= 400) {
            throw new IllegalStateException(answer.statusCode() + " " + answer.body());
        }
        return answer.body();
    }

    /** Move the emulator's time, through every timer on the way. */
    void advance(String span) throws Exception {
        admin("POST", "clock", "{\"advance\": \"" + span + "\"}");
    }

    /** Post to any address, as an application would, and return the status. */
    int post(String url, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).POST(BodyPublishers.ofString(body)).build();
        return client.send(request, BodyHandlers.discarding()).statusCode();
    }

    /** Return a member of flat JSON. */
    static String member(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\\s*\"?([^\",}]*)").matcher(json);
        if (!found.find()) {
            throw new IllegalArgumentException(name + " is not in " + json);
        }
        return found.group(1);
    }
}
