import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Prints the status and the content of an address, as a program without any SDK does. */
public class Plain {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 1 && arguments[1].equals("java.net.http")) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
            HttpResponse<String> answer =
                HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + answer.body());
            return;
        }
        HttpURLConnection connection = (HttpURLConnection) new URL(arguments[0]).openConnection();
        int status = connection.getResponseCode();
        InputStream content = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        System.out.println(status + " " + (content == null ? "" : new String(content.readAllBytes())));
    }
}
