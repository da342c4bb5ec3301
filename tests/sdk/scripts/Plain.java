import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Prints the status and the content of addresses, a line for each, as a program without any SDK does. */
public class Plain {
    public static void main(String[] arguments) throws Exception {
        for (int each = 1; each < arguments.length; each++) {
            System.out.println(arguments[0].equals("java.net.http") ? modern(arguments[each]) : usual(arguments[each]));
        }
    }

    private static String modern(String address) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        return answer.statusCode() + " " + answer.body();
    }

    private static String usual(String address) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) new URL(address).openConnection();
        int status = connection.getResponseCode();
        InputStream content = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        return status + " " + (content == null ? "" : new String(content.readAllBytes()));
    }
}
