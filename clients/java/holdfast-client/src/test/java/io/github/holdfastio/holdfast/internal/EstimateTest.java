package io.github.holdfastio.holdfast.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The client considers a lease over before the service does, whatever is lost, doubled or late. */
class EstimateTest {
    private static final long S = Clock.SECOND;
    private static final long[] TTLS = {S / 10, 3 * S / 10, S, 2 * S, 10 * S, 30 * S};

    /**
     * A service with a simulated clock, and a network that loses, doubles, delays and reorders. A request without a
     * number arrives within the time that it asks for, or never, and no copy of it after its answer. One that has a
     * number, and its copies, may take as long as they like.
     */
    private static final class Model {
        private record Request(long id, long ttl, long sent, long order) {}

        private record Reply(long id, long remaining, long order) {}

        private final Random random;
        private final boolean ordered;
        private final List<Request> requests = new ArrayList<>();
        private final List<Reply> replies = new ArrayList<>();
        private final Estimate estimate;
        private long now = 1000 * S;
        private long ends;
        private long order;
        private long highest;
        private long last;

        Model(long seed) {
            random = new Random(seed);
            ordered = random.nextBoolean();
            long ttl = ttl();
            long left = ttl / 10 + (long) (random.nextDouble() * (ttl - ttl / 10));
            ends = now + left;
            estimate = new Estimate(now, left, ttl);
        }

        void step() {
            switch (random.nextInt(7)) {
                case 0 -> pass();
                case 1 -> ask();
                case 2 -> another();
                case 3 -> send();
                case 4 -> arrive();
                case 5 -> drop(requests);
                default -> answer();
            }
            if (now < estimate.until) {
                assertTrue(held(), "the client takes the lease for held, and the service does not");
                assertTrue(estimate.until <= ends, "the end of the client is later than that of the service");
            }
        }

        private boolean held() {
            return now < ends;
        }

        private long ttl() {
            return TTLS[random.nextInt(TTLS.length)];
        }

        private void pass() {
            now += Clock.MILLISECOND + random.nextLong(3 * S);
            if (!ordered) {
                requests.removeIf(r -> now >= r.sent + r.ttl - Estimate.margin(r.ttl));
            }
        }

        private void ask() {
            long ttl = ttl();
            order += ttl == estimate.asked ? 0 : 1;
            estimate.asked = ttl;
        }

        /** What another client asks for is unknown here, so that it may only lengthen the lease. */
        private void another() {
            long ttl = ttl();
            if (ordered && held() && now + ttl >= ends) {
                highest++;
                ends = now + ttl;
            }
        }

        private void send() {
            if (now >= estimate.until) {
                return; // the client has given the lease up
            }
            last++;
            estimate.order = ordered ? order + 1 : 0;
            estimate.sent(last, now);
            Request request = new Request(last, estimate.asked, now, estimate.order);
            requests.add(request);
            if (random.nextBoolean()) {
                requests.add(request);
            }
        }

        private void arrive() {
            Request r = drop(requests);
            if (r == null || !held()) {
                return;
            }
            if (r.order >= highest) {
                ends = now + r.ttl;
                highest = r.order;
            }
            replies.add(new Reply(r.id, ends - now, highest));
        }

        private void answer() {
            Reply reply = drop(replies);
            if (reply == null) {
                return;
            }
            if (random.nextBoolean()) {
                replies.add(reply); // it comes twice
            }
            if (!ordered) {
                requests.removeIf(r -> r.id == reply.id);
            }
            estimate.granted(reply.id, reply.remaining, reply.order);
            order = Math.max(order, reply.order);
        }

        private <T> T drop(List<T> all) {
            return all.isEmpty() ? null : all.remove(random.nextInt(all.size()));
        }
    }

    @Test
    void neverLaterThanTheService() {
        for (long seed = 0; seed < 20_000; seed++) {
            Model model = new Model(seed);
            for (int i = 0; i < 40; i++) {
                model.step();
            }
        }
    }

    @Test
    void margin() {
        assertEquals(15 * Clock.MILLISECOND, Estimate.margin(S / 10));
        assertEquals(S / 2, Estimate.margin(4 * S));
        assertEquals(S, Estimate.margin(60 * S));
        assertEquals(86_400 * Clock.MILLISECOND, Estimate.margin(86_400 * S));
    }

    @Test
    void theEndIsCountedFromTheSending() {
        Estimate e = new Estimate(100 * S, 5 * S, 30 * S);
        assertEquals(104 * S, e.until);
        assertEquals(105 * S, e.end());
        e.sent(1, 101 * S);
        assertEquals(new Estimate.Grant(101 * S, List.of(1L)), e.granted(1, 30 * S, 0));
        assertEquals(130 * S, e.until);
        assertNull(e.granted(1, 30 * S, 0));
    }

    @Test
    void aShorterTtlCountsWhenItIsSent() {
        Estimate e = new Estimate(100 * S, 30 * S, 30 * S);
        e.asked = 8 * S;
        e.sent(1, 101 * S);
        assertEquals(108 * S, e.until);
    }

    @Test
    void aRequestWithoutEffectDoesNotCount() {
        Estimate e = new Estimate(100 * S, 30 * S, 30 * S);
        e.sent(1, 101 * S);
        e.drop(1);
        assertNull(e.granted(1, 30 * S, 0));
        assertEquals(129 * S, e.until);
    }
}
