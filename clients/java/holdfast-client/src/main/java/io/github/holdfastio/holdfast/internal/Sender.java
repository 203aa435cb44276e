package io.github.holdfastio.holdfast.internal;

import io.nats.client.Connection;
import io.nats.client.ConnectionListener;
import io.nats.client.Dispatcher;
import io.nats.client.Subscription;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Sends attempts, each with a reply subject of its own, and hands the answers to their receivers. What is asked for in
 * the same turn of the loop goes together, if the deployment takes batches.
 */
final class Sender {
    /** The operations of which an answer has leases of one resource: that of the key. */
    private static final Set<String> ABOUT_ONE = Set.of("acquire", "release", "extend", "get", "set");
    /**
     * How many answers of a batch are taken in at once. What their receivers send then leaves before more are taken in,
     * so that the service works at the same time.
     */
    private static final int AT_ONCE = 32;
    /** The header with the generation of the shards, in answers on a direct subject of another one. */
    private static final String GENERATION = "Holdfast-Generation";
    /** What the number of a batch begins with in a reply subject, and that of an attempt does not. */
    private static final String BATCH = "b";

    private static final int NAME_BYTES = 12;
    private static final int SECRET_BYTES = 16;
    private static final int NOBODY = 503;

    final Connection nc;
    final Loop loop;
    final Router router;
    final Window window;
    final Batching batching = new Batching();
    /** The subject on which notices are received. */
    final String notices;
    /** When the sender was made. */
    final long begun = Clock.now();
    /** The number of the latest attempt or batch. */
    long last;
    /** No answer comes any more. */
    boolean off;
    /** A node has answered. */
    boolean answered;
    /** Why NATS sends no answers; empty: it does. */
    String deaf = "";

    private final String owner;
    private final Handles client;
    private final String inbox;
    private final Mac mac = newMac();
    private final Map<Long, Attempt> attempts = new LinkedHashMap<>();
    private List<Attempt> outbox = new ArrayList<>();
    private final ConnectionListener listener = this::connectionEvent;
    private @Nullable Dispatcher dispatcher;

    Sender(Connection nc, Loop loop, String prefix, String owner, Handles client) {
        this.nc = nc;
        this.loop = loop;
        this.owner = owner;
        this.client = client;
        router = new Router(prefix);
        window = new Window(loop);
        String made = nc.createInbox(); // those that jnats makes can be guessed from one another
        inbox = made.substring(0, made.lastIndexOf('.') + 1) + Checks.hex(Checks.random(SECRET_BYTES), SECRET_BYTES) + ".";
        notices = inbox + name("0"); // no attempt has this number
        loop.behind = this::flush;
        nc.addConnectionListener(listener);
        Denials.report(nc, this);
    }

    /** Begins to receive answers. */
    void open() {
        try {
            Dispatcher d = nc.createDispatcher(m -> loop.execute(() -> received(m)));
            d.subscribe(inbox + "*");
            dispatcher = d;
        } catch (IllegalStateException e) {
            look(); // the connection is closed
        }
    }

    /** Subscribes to a subject. Returns null if the connection is closed. */
    @Nullable Subscription subscribe(String subject, Consumer<io.nats.client.Message> receive) {
        Dispatcher d = dispatcher;
        try {
            return d == null ? null : d.subscribe(subject, m -> loop.execute(() -> receive.accept(m)));
        } catch (IllegalStateException e) {
            return null;
        }
    }

    void unsubscribe(@Nullable Subscription subscription) {
        Dispatcher d = dispatcher;
        if (d != null && subscription != null) {
            try {
                d.unsubscribe(subscription);
            } catch (IllegalStateException e) {
                // The connection is closed, which does as well.
            }
        }
    }

    /**
     * Sends one attempt and returns its number. The message is not to be modified any more. Receive is called at most
     * once, until forget; null: no answer is expected.
     */
    long send(Route route, Message message, @Nullable Consumer<Answer> receive) {
        last++;
        byte[] payload = Writer.request(route.operation(), message);
        Attempt attempt = new Attempt(last, route, payload, receive, Clock.now());
        if (receive != null) {
            attempts.put(attempt.id, attempt);
        }
        outbox.add(attempt);
        return attempt.id;
    }

    /** Avoids direct routes for a time and tries batches anew: another node has answered where they did not. */
    void detour() {
        router.avoid();
        batching.tryAgain(false);
    }

    /** Makes the answers to the attempts orphans. */
    void forget(Collection<Long> ids) {
        attempts.keySet().removeAll(ids);
    }

    /** Returns whether an attempt waits for the connection to take it. */
    boolean isQueued(long id) {
        Attempt attempt = attempts.get(id);
        return attempt != null && attempt.queued;
    }

    /** Takes back those of the attempts that have not been published, and leaves the others. */
    void recall(List<Long> ids) {
        List<Long> queued = ids.stream().filter(this::isQueued).toList();
        forget(queued);
        ids.removeAll(queued);
    }

    /** Returns whether answers come to a subject, which is in lower case. */
    boolean receives(String subject) {
        return subject.startsWith(inbox.toLowerCase(Locale.ROOT));
    }

    /** Notes why NATS sends no answers. */
    void deafen(String error) {
        deaf = error;
        client.reconnected(); // wakes all that wait
    }

    /** Returns the open attempts that were published alone on a subject, which is in lower case. */
    List<Attempt> publishedOn(String subject) {
        return attempts.values().stream()
                .filter(a -> !a.queued && a.batch == 0)
                .filter(a -> router.subject(a.route).toLowerCase(Locale.ROOT).equals(subject))
                .toList();
    }

    /** Answers those of the attempts that are open here: NATS has denied them. */
    void deny(List<Attempt> denied, String error) {
        for (Attempt a : denied) {
            if (attempts.get(a.id) == a) {
                unsent(a, Answer.none(Answer.DENIED).with("error", error));
            }
        }
    }

    /** Takes in an answer that is not expected any more. */
    void disown(Answer a) {
        if (a.is("GRANTED") && a.reply.has("lease")) {
            client.orphaned(a.lease());
        }
    }

    /** Publishes what needs no answer, and takes leave of the connection. */
    void close() {
        Denials.ignore(nc, this);
        nc.removeConnectionListener(listener);
        flush();
        Dispatcher d = dispatcher;
        if (d != null) {
            try {
                nc.closeDispatcher(d);
            } catch (IllegalStateException | IllegalArgumentException e) {
                // The connection closes, which does as well.
            }
        }
    }

    private void connectionEvent(Connection connection, ConnectionListener.Events event) {
        switch (event) {
            case RESUBSCRIBED -> loop.execute(this::reconnected);
            case CLOSED -> loop.execute(this::look);
            default -> {}
        }
    }

    private void reconnected() {
        batching.tryAgain(true);
        deaf = ""; // the subscription was made anew, and is denied anew if it still is
        client.reconnected();
    }

    private void look() {
        if (!off && (dispatcher == null || nc.getStatus() == Connection.Status.CLOSED)) {
            off = true;
            client.reconnected();
        }
    }

    private void flush() {
        while (!outbox.isEmpty()) {
            List<Attempt> queue = outbox;
            outbox = new ArrayList<>();
            if (queue.size() > 1 && batching.mustTry()) {
                tryBatch(queue);
            }
            if (batching.may()) {
                Batching.bundle(queue).forEach(this::publish);
            } else {
                queue.forEach(attempt -> publish(List.of(attempt)));
            }
        }
    }

    /** The answer to a batch of an empty call, which is INVALID, says that batches are taken. */
    private void tryBatch(List<Attempt> queue) {
        for (Attempt a : queue) {
            if (a.route.direct()) {
                Writer empty = new Writer();
                empty.emptyCall();
                publish(router.batch(a.route.shard()), empty.take(), BATCH + ++last);
                return;
            }
        }
    }

    private void publish(List<Attempt> group) {
        List<Attempt> calls = new ArrayList<>(group);
        calls.removeIf(a -> a.receive != null && !attempts.containsKey(a.id));
        if (calls.isEmpty()) {
            return;
        }
        Attempt first = calls.get(0);
        String subject = router.subject(first.route);
        String number = Long.toString(first.id);
        byte[] payload = first.payload;
        if (calls.size() > 1) {
            payload = Batching.encode(calls);
            if (payload.length > nc.getMaxPayload()) {
                publish(calls.subList(0, calls.size() / 2));
                publish(calls.subList(calls.size() / 2, calls.size()));
                return;
            }
            last++;
            subject = router.batch(first.route.shard());
            number = BATCH + last;
            calls.forEach(a -> a.batch = last);
        }
        calls.forEach(a -> a.queued = false);
        if (!publish(subject, payload, number)) {
            calls.forEach(a -> unsent(a, Answer.none(Answer.NOT_SENT)));
        }
    }

    private boolean publish(String subject, byte[] payload, String number) {
        // What is published without a connection would leave at an unknown time.
        if (dispatcher == null || nc.getStatus() != Connection.Status.CONNECTED) {
            return false;
        }
        try {
            nc.publish(subject, inbox + name(number), payload);
            return true;
        } catch (IllegalStateException | IllegalArgumentException e) {
            return false;
        }
    }

    private void unsent(Attempt a, Message reply) {
        attempts.remove(a.id);
        if (a.receive != null) {
            a.receive.accept(new Answer(a.id, a.sent, a.route.direct(), reply));
        }
    }

    private void received(io.nats.client.Message m) {
        String name = m.getSubject().substring(inbox.length());
        String number = name.substring(0, Math.max(name.indexOf('-'), 0));
        if (!name.equals(name(number))) {
            return;
        }
        if (m.getSubject().equals(notices)) {
            Message notice = parse(Schema.NOTICE, m.getData());
            if (notice != null) {
                client.noticed(notice);
            }
            return;
        }
        boolean nobody = m.isStatusMessage() && m.getStatus().getCode() == NOBODY;
        answered = answered || !nobody;
        String generation = m.hasHeaders() ? m.getHeaders().getFirst(GENERATION) : null;
        if (generation != null && router.isOld(generation)) {
            client.deployment.refresh(); // a hint, which may be forged
        }
        if (number.startsWith(BATCH)) {
            answeredBatch(Long.parseLong(number.substring(BATCH.length())), nobody, m.getData());
        } else {
            answered(Long.parseLong(number), nobody, m.getData());
        }
    }

    private void answered(long id, boolean nobody, byte[] data) {
        Attempt attempt = attempts.get(id);
        boolean lists = attempt != null && attempt.route.operation().equals("list");
        Message none = Answer.none(Answer.NO_RESPONDERS);
        Message reply = nobody ? none : parse(lists ? Schema.LIST_REPLY : Schema.REPLY, data);
        take(id, 0, reply == null ? Answer.none(Answer.GARBLED) : reply);
    }

    /** Takes in answers to a batch. A message that cannot be read says nothing. */
    private void answeredBatch(long batch, boolean nobody, byte[] data) {
        if (nobody) {
            sentIn(batch).forEach(a -> take(a.id, batch, Answer.none(Answer.NO_RESPONDERS)));
            return;
        }
        Message reply = parse(Schema.BATCH_REPLY, data);
        if (reply == null) {
            return;
        }
        batching.prove();
        take(batch, reply.messages("answers"));
    }

    private void take(long batch, List<Message> answers) {
        for (Message answer : answers.subList(0, Math.min(AT_ONCE, answers.size()))) {
            long id = answer.number("id");
            Message reply = answer.message("reply");
            if (id != 0) {
                take(id, batch, reply);
                continue;
            }
            List<Attempt> refused = sentIn(batch);
            if (!refused.isEmpty()) {
                batching.offered = false; // the node does not understand them; first, since receivers send again
                refused.forEach(a -> unsent(a, Answer.none(Answer.NOT_SENT).with("error", reply.text("error"))));
            }
        }
        if (answers.size() > AT_ONCE) {
            // The receivers go on in the next turn, and what they send leaves behind it.
            loop.execute(() -> loop.execute(() -> take(batch, answers.subList(AT_ONCE, answers.size()))));
        }
    }

    /** Looks at all attempts; it is for the rare case that a batch has no effect. */
    private List<Attempt> sentIn(long batch) {
        return attempts.values().stream().filter(a -> a.batch == batch).toList();
    }

    /** Hands an answer to the receiver of its attempt, which came in answer to a batch; 0: alone. */
    private void take(long id, long batch, Message reply) {
        Attempt attempt = attempts.get(id);
        if (attempt == null || attempt.receive == null) {
            disown(new Answer(id, 0, false, reply));
            return;
        }
        if (attempt.batch != batch) {
            return;
        }
        Route route = attempt.route;
        // mutant: JavaLeaseCountsFromTheAnswer
        Answer answer = new Answer(id, attempt.sent, route.direct(), reply);
        if (ABOUT_ONE.contains(route.operation()) && !answer.isAbout(route.key(), owner)) { // mutant: JavaForgedAnswerIsTaken
            return; // the right one may yet come
        }
        attempts.remove(id);
        if (answer.direct) {
            if (answer.is(Answer.NO_RESPONDERS)) {
                client.deployment.refresh(); // a hint, which may be forged
            } else {
                router.proven();
            }
        }
        attempt.receive.accept(answer);
    }

    private static @Nullable Message parse(Schema schema, byte[] data) {
        try {
            return Reader.parse(schema, data);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** Returns the name of a reply subject. Who has seen that of one attempt cannot guess that of another one. */
    private String name(String number) {
        byte[] proof = mac.doFinal(number.getBytes(StandardCharsets.US_ASCII));
        return number + "-" + Checks.hex(proof, NAME_BYTES);
    }

    private static Mac newMac() {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Checks.random(SECRET_BYTES), "HmacSHA256"));
            return mac;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("each Java platform has HmacSHA256", e);
        }
    }
}
