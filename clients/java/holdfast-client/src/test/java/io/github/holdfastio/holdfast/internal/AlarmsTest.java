package io.github.holdfastio.holdfast.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AlarmsTest {
    private final Alarms alarms = new Alarms();
    private final List<String> rung = new ArrayList<>();

    private Alarm alarm(String name) {
        return new Alarm(() -> rung.add(name));
    }

    @Test
    void alarmsGoOffInTheirOrder() {
        alarms.set(alarm("b"), 20);
        alarms.set(alarm("a"), 10);
        alarms.ring(9);
        assertEquals(List.of(), rung);
        assertEquals(10, alarms.next());
        alarms.ring(20);
        assertEquals(List.of("a", "b"), rung);
        assertEquals(Clock.NEVER, alarms.next());
    }

    @Test
    void theLatestMomentCounts() {
        Alarm a = alarm("a");
        alarms.set(a, 10);
        alarms.set(a, 30);
        alarms.ring(20);
        assertEquals(List.of(), rung);
        alarms.set(a, 25);
        alarms.ring(25);
        alarms.ring(40);
        assertEquals(List.of("a"), rung);
    }

    @Test
    void whatIsStoppedDoesNotGoOff() {
        Alarm a = alarm("a");
        alarms.set(a, 10);
        alarms.stop(a);
        alarms.set(a, Clock.NEVER);
        alarms.ring(50);
        assertEquals(List.of(), rung);
    }

    @Test
    void stoppedAlarmsAreForgotten() {
        for (int i = 0; i < 100_000; i++) {
            Alarm a = alarm("a");
            alarms.set(a, 1000 + i);
            alarms.stop(a);
        }
        Alarm last = alarm("last");
        alarms.set(last, 2_000_000);
        int rings = 0;
        while (alarms.next() < 2_000_000) {
            alarms.ring(1_999_999);
            rings++;
        }
        assertTrue(rings < 10, "stopped alarms are kept");
    }
}
