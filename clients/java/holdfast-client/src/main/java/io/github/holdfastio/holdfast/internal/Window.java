package io.github.holdfastio.holdfast.internal;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/** How many requests are begun at a time: admits them in their order. */
final class Window {
    /**
     * How many requests may be on their way that were begun in the last QUIET. Beyond that, answers would take so long
     * that requests are repeated because this process is busy, which makes it busier.
     */
    private static final int WIDTH = 512;

    private static final long QUIET = Clock.SECOND / 4;

    private final Loop loop;
    /** What was admitted and not answered, with the moment from which on it does not count, the earliest first. */
    private final Map<Exchange, Long> inside = new LinkedHashMap<>();

    private final ArrayDeque<Exchange> waiting = new ArrayDeque<>();
    private final Alarm alarm = new Alarm(this::look);

    Window(Loop loop) {
        this.loop = loop;
    }

    /** Admits an exchange now or later. However that ends, leave is to be called. */
    void enter(Exchange x) {
        if (waiting.isEmpty() && inside.size() < WIDTH) {
            inside.put(x, Clock.now() + QUIET);
            x.admitted();
            return;
        }
        waiting.add(x);
        look();
    }

    /** Notes that the exchange is answered, or not waited for any more. */
    void leave(Exchange x) {
        if (inside.remove(x) != null) {
            admit();
        }
    }

    private void admit() {
        while (!waiting.isEmpty() && inside.size() < WIDTH) {
            Exchange x = waiting.remove();
            if (!x.finished) {
                inside.put(x, Clock.now() + QUIET);
                loop.execute(x::admitted);
            }
        }
    }

    /** Takes out what does not count any more, and looks again when the next one does not. */
    private void look() {
        long now = Clock.now();
        for (Iterator<Long> ends = inside.values().iterator(); ends.hasNext() && ends.next() <= now; ) {
            ends.remove();
        }
        admit();
        if (!waiting.isEmpty()) {
            loop.alarms.set(alarm, inside.values().iterator().next());
        }
    }
}
