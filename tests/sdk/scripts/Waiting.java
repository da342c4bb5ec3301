/** Prints the port of the proxy that its clients use, and waits. */
public class Waiting {
    public static void main(String[] arguments) throws Exception {
        System.out.println("proxy at " + System.getProperty("https.proxyPort"));
        Thread.sleep(60_000);
    }
}
