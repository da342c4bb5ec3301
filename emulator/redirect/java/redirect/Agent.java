package redirect;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.instrument.Instrumentation;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;

/**
 * Leads a Java program's HTTP clients to the emulator's proxy, whether they can log in to a proxy or not.
 *
 * <p>A socket of this process is the proxy that the networking properties name. Each connection to it goes on to the
 * emulator's, with the secret added to its first request. Connections of other users are refused where the system tells
 * whose they are. Read from the environment: {@code LOCALYUN_PROXY_URL}.
 */
public final class Agent {
    private static final int MOST_HEAD = 65536;
    private static final int LOOKS = 3;
    private static final String TIME_WAIT = "06";
    private static final List<String> ONE_HOP =
        Arrays.asList("connection", "proxy-connection", "upgrade", "http2-settings", "keep-alive");
    private final URI proxy;
    private final String login;

    private Agent(URI proxy) {
        this.proxy = proxy;
        byte[] user = proxy.getUserInfo().getBytes(StandardCharsets.UTF_8);
        login = "Proxy-Authorization: Basic " + Base64.getEncoder().encodeToString(user) + "\r\n";
    }

    /** Called before the program's main method. */
    public static void premain(String options, Instrumentation machine) throws IOException {
        String address = System.getenv("LOCALYUN_PROXY_URL");
        if (address == null || address.isEmpty()) {
            return;
        }
        ServerSocket listening = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        for (String scheme : new String[] {"http", "https"}) {
            System.setProperty(scheme + ".proxyHost", "127.0.0.1");
            System.setProperty(scheme + ".proxyPort", String.valueOf(listening.getLocalPort()));
        }
        try {
            Environment.replace(machine, address, "http://127.0.0.1:" + listening.getLocalPort());
        } catch (ReflectiveOperationException | RuntimeException closed) {
            System.setProperty("localyun.environment", "as it was: " + closed);
        }
        Agent agent = new Agent(URI.create(address));
        start(() -> agent.accept(listening));
    }

    private void accept(ServerSocket listening) {
        while (true) {
            try {
                Socket client = listening.accept();
                start(() -> serve(client));
            } catch (IOException error) {
                return;
            }
        }
    }

    private void serve(Socket client) {
        try (Socket near = client) {
            if (isOfAnotherUser(near)) {
                return;
            }
            String head = readHead(near.getInputStream());
            try (Socket far = new Socket(proxy.getHost(), proxy.getPort())) {
                far.getOutputStream().write(withLogin(head).getBytes(StandardCharsets.ISO_8859_1));
                start(() -> pump(near, far));
                pump(far, near);
            }
        } catch (IOException lost) {
            return; // the other side sees the end of its connection
        }
    }

    /** Return the head with the secret in it; a request that is no tunnel is made the last of its connection. */
    private String withLogin(String head) {
        int end = head.indexOf("\r\n") + 2;
        if (head.startsWith("CONNECT ")) {
            return head.substring(0, end) + login + head.substring(end);
        }
        StringBuilder kept = new StringBuilder(head.substring(0, end)).append(login).append("Connection: close\r\n");
        for (String line : head.substring(end).split("\r\n")) {
            String name = line.split(":", 2)[0].toLowerCase(Locale.ROOT);
            if (!line.isEmpty() && !ONE_HOP.contains(name)) {
                kept.append(line).append("\r\n");
            }
        }
        return kept.append("\r\n").toString();
    }

    private static String readHead(InputStream source) throws IOException {
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        int matched = 0;
        while (matched < 4) {
            int octet = source.read();
            if (octet < 0 || head.size() > MOST_HEAD) {
                throw new IOException("no request");
            }
            head.write(octet);
            matched = octet == "\r\n\r\n".charAt(matched) ? matched + 1 : octet == '\r' ? 1 : 0;
        }
        return new String(head.toByteArray(), StandardCharsets.ISO_8859_1);
    }

    private static void pump(Socket from, Socket to) {
        byte[] piece = new byte[16384];
        try {
            InputStream source = from.getInputStream();
            OutputStream target = to.getOutputStream();
            for (int size = source.read(piece); size >= 0; size = source.read(piece)) {
                target.write(piece, 0, size);
                target.flush();
            }
            to.shutdownOutput();
        } catch (IOException lost) {
            return; // the other direction ends as well
        }
    }

    /**
     * Whether the system's tables of connections name another user than this process's as the owner of one end, or
     * nobody. Another connection may have the same port at another address, and one that waits for its last packets
     * belongs to root: only the living ones from there to here count. A table that changes while it is read can lack a
     * line, so one that is not found is looked for again.
     */
    private static boolean isOfAnotherUser(Socket client) {
        String there = String.format(":%04X", client.getPort());
        String here = String.format(":%04X", client.getLocalPort());
        try {
            String own = String.valueOf(Files.getAttribute(Paths.get("/proc/self"), "unix:uid"));
            for (int look = 0; look < LOOKS; look++) {
                List<String> owners = ownersOf(there, here);
                if (!owners.isEmpty()) {
                    return !owners.stream().allMatch(own::equals);
                }
            }
            return true;
        } catch (IOException | UnsupportedOperationException elsewhere) {
            return false;
        }
    }

    private static List<String> ownersOf(String there, String here) throws IOException {
        List<String> owners = new ArrayList<>();
        for (String table : new String[] {"/proc/net/tcp", "/proc/net/tcp6"}) {
            for (String line : Files.readAllLines(Paths.get(table))) {
                String[] columns = line.trim().split("\\s+");
                if (columns.length > 7 && columns[1].endsWith(there) && columns[2].endsWith(here)
                    && !columns[3].equals(TIME_WAIT)) {
                    owners.add(columns[7]);
                }
            }
        }
        return owners;
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "localyun-proxy");
        thread.setDaemon(true);
        thread.start();
    }
}
