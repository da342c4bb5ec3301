import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;

/** Prints the status and the content of an address, as a program without any SDK does. */
public class Plain {
    public static void main(String[] arguments) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) new URL(arguments[0]).openConnection();
        int status = connection.getResponseCode();
        InputStream content = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        System.out.println(status + " " + (content == null ? "" : new String(content.readAllBytes())));
    }
}
