package io.github.holdfastio.holdfast.internal;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;

/** The alarms that are set: many moments, one timer. */
final class Alarms {
    /** How many alarms go off before other tasks of the loop have their turn. */
    private static final int TURN = 256;

    private static final int SLACK = 1024;

    private record Entry(long at, Alarm alarm) {}

    private final PriorityQueue<Entry> heap = new PriorityQueue<>((a, b) -> Long.compare(a.at, b.at));
    private int live;

    /** Has the alarm go off at a moment, instead of the one that was set before. */
    void set(Alarm alarm, long at) {
        if (at >= Clock.NEVER) {
            stop(alarm);
            return;
        }
        if (alarm.at == Clock.NEVER) {
            live++;
        }
        alarm.at = at;
        if (at < alarm.queued) { // else its entry is looked at early enough
            push(alarm);
        }
    }

    /** Has the alarm not go off. */
    void stop(Alarm alarm) {
        if (alarm.at != Clock.NEVER) {
            live--;
            alarm.at = Clock.NEVER;
            if (heap.size() > 2 * live + SLACK) {
                compact();
            }
        }
    }

    /** Has the alarm never go off again. Nothing is kept for it, also while it is in the heap. */
    void discard(Alarm alarm) {
        stop(alarm);
        alarm.wake = () -> {};
    }

    /** Returns when there is something to do; NEVER: no alarm is set. */
    long next() {
        Entry first = heap.peek();
        return first == null ? Clock.NEVER : first.at;
    }

    /** Calls what is due. */
    void ring(long now) {
        for (int i = 0; i < TURN; i++) {
            Entry first = heap.peek();
            if (first == null || first.at > now) {
                return;
            }
            pop(now);
        }
    }

    private void pop(long now) {
        Entry entry = heap.remove();
        Alarm alarm = entry.alarm;
        if (entry.at == alarm.queued) {
            alarm.queued = Clock.NEVER;
        }
        if (alarm.at <= now) {
            live--;
            alarm.at = Clock.NEVER;
            alarm.wake.run();
        } else if (alarm.at < alarm.queued) {
            push(alarm);
        }
    }

    private void push(Alarm alarm) {
        alarm.queued = alarm.at;
        heap.add(new Entry(alarm.at, alarm));
    }

    private void compact() {
        Set<Alarm> kept = new LinkedHashSet<>();
        List<Entry> entries = new ArrayList<>(heap);
        heap.clear();
        for (Entry entry : entries) {
            entry.alarm.queued = Clock.NEVER;
            if (entry.alarm.at != Clock.NEVER) {
                kept.add(entry.alarm);
            }
        }
        kept.forEach(this::push);
    }
}
