package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ReminderTest {
    private static final Localyun LOCALYUN = new Localyun();

    @BeforeAll
    static void keepTheState() throws Exception {
        LOCALYUN.admin("POST", "clock", "{\"freeze\": true}");
        LOCALYUN.admin("POST", "checkpoints/java-example", "{}");
    }

    @AfterAll
    static void forgetIt() throws Exception {
        LOCALYUN.admin("DELETE", "checkpoints/java-example", null);
    }

    @BeforeEach
    void putItBack() throws Exception {
        LOCALYUN.admin("POST", "checkpoints/java-example/restore", "{}");
    }

    @Test
    void aDayPassesAtOnce() throws Exception {
        long before = Long.parseLong(Localyun.member(LOCALYUN.admin("GET", "clock", null), "now_ms"));

        LOCALYUN.advance("24h");

        long after = Long.parseLong(Localyun.member(LOCALYUN.admin("GET", "clock", null), "now_ms"));
        assertEquals(24 * 3600 * 1000, after - before);
    }

    @Test
    void aSinkKeepsWhatItIsSent() throws Exception {
        String sink = LOCALYUN.admin("POST", "sinks", "{\"answers\": [{\"status\": 503}, {\"status\": 204}]}");

        assertEquals(503, LOCALYUN.post(Localyun.member(sink, "url"), "first"));
        assertEquals(204, LOCALYUN.post(Localyun.member(sink, "url"), "second"));

        String received = LOCALYUN.admin("GET", "sinks/" + Localyun.member(sink, "id"), null);
        assertTrue(received.contains("first") && received.contains("second"), received);
    }
}
