package io.github.holdfastio.holdfast.internal;

import java.util.Comparator;
import java.util.TreeSet;

/** The alarms that are set: many moments, one timer. */
final class Alarms {
    /** How many alarms go off before other tasks of the loop have their turn. */
    private static final int TURN = 256;

    private final TreeSet<Alarm> all =
            new TreeSet<>(Comparator.<Alarm>comparingLong(a -> a.at).thenComparingLong(a -> a.number));
    private long last;

    /** Has the alarm go off at a moment, instead of the one that was set before. */
    void set(Alarm alarm, long at) {
        stop(alarm);
        if (at < Clock.NEVER) {
            alarm.at = at;
            alarm.number = ++last;
            all.add(alarm);
        }
    }

    /** Has the alarm not go off. */
    void stop(Alarm alarm) {
        if (alarm.at != Clock.NEVER) {
            all.remove(alarm);
            alarm.at = Clock.NEVER;
        }
    }

    /** Has the alarm never go off again, also if it is set once more. */
    void discard(Alarm alarm) {
        stop(alarm);
        alarm.wake = () -> {};
    }

    /** Returns when there is something to do; NEVER: no alarm is set. */
    long next() {
        return all.isEmpty() ? Clock.NEVER : all.first().at;
    }

    /** Calls what is due. */
    void ring(long now) {
        for (int i = 0; i < TURN && next() <= now; i++) {
            Alarm first = all.first();
            stop(first);
            first.wake.run();
        }
    }
}
