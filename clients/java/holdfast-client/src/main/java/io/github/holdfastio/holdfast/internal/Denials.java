package io.github.holdfastio.holdfast.internal;

import io.nats.client.Connection;
import io.nats.client.Consumer;
import io.nats.client.ErrorListener;
import io.nats.client.JetStreamSubscription;
import io.nats.client.Message;
import io.nats.client.support.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What NATS denies on a connection, reported to its senders. jnats reports it to the listener of its options only, so
 * this is the listener, and the application's is called behind it.
 */
public final class Denials implements ErrorListener {
    private static final Pattern DENIAL = Pattern.compile(
            "permissions violation for (?:publish|subscription) to \"([^\"]*)\"", Pattern.CASE_INSENSITIVE);

    private final ErrorListener behind;
    private final List<Sender> senders = new CopyOnWriteArrayList<>();

    public Denials(ErrorListener behind) {
        this.behind = behind;
    }

    /** Reports the denials of a connection to one more sender, if its options have such a listener. */
    static void report(Connection connection, Sender sender) {
        if (connection.getOptions().getErrorListener() instanceof Denials denials) {
            denials.senders.add(sender);
        }
    }

    static void ignore(Connection connection, Sender sender) {
        if (connection.getOptions().getErrorListener() instanceof Denials denials) {
            denials.senders.remove(sender);
        }
    }

    /** Returns the subject of a denial, in lower case; empty: the error is another one, or none. */
    static String subject(@Nullable String error) {
        Matcher found = DENIAL.matcher(error == null ? "" : error);
        return found.find() ? found.group(1).toLowerCase(Locale.ROOT) : "";
    }

    @Override
    public void errorOccurred(Connection connection, String error) {
        String subject = subject(error);
        if (!subject.isEmpty()) {
            deny(subject, error + "; holdfast access prints the permissions of a client");
        }
        behind.errorOccurred(connection, error);
    }

    @Override
    public void exceptionOccurred(Connection connection, Exception exception) {
        behind.exceptionOccurred(connection, exception);
    }

    @Override
    public void slowConsumerDetected(Connection connection, Consumer consumer) {
        behind.slowConsumerDetected(connection, consumer);
    }

    @Override
    public void messageDiscarded(Connection connection, Message message) {
        behind.messageDiscarded(connection, message);
    }

    @Override
    public void socketWriteTimeout(Connection connection) {
        behind.socketWriteTimeout(connection);
    }

    @Override
    public void heartbeatAlarm(Connection connection, JetStreamSubscription of, long last, long lastConsumer) {
        behind.heartbeatAlarm(connection, of, last, lastConsumer);
    }

    @Override
    public void unhandledStatus(Connection connection, JetStreamSubscription of, Status status) {
        behind.unhandledStatus(connection, of, status);
    }

    @Override
    public void pullStatusWarning(Connection connection, JetStreamSubscription of, Status status) {
        behind.pullStatusWarning(connection, of, status);
    }

    @Override
    public void pullStatusError(Connection connection, JetStreamSubscription of, Status status) {
        behind.pullStatusError(connection, of, status);
    }

    @Override
    public void flowControlProcessed(
            Connection connection, JetStreamSubscription of, String subject, FlowControlSource source) {
        behind.flowControlProcessed(connection, of, subject, source);
    }

    /**
     * Collects the open attempts on the subject, each sender on its loop. An attempt that NATS did not publish had no
     * effect. The error does not say which one it was: the permission may be younger than some of those on the subject,
     * whichever sender they are of. As many denials as there are open attempts show that all were denied.
     */
    private void deny(String subject, String error) {
        List<Sender> all = List.copyOf(senders);
        List<Attempt> open = new ArrayList<>();
        int[] left = {all.size()};
        for (Sender sender : all) {
            sender.loop.execute(() -> {
                if (sender.receives(subject)) {
                    sender.deafen(error);
                }
                synchronized (this) {
                    open.addAll(sender.publishedOn(subject));
                    left[0]--;
                    if (left[0] > 0 || open.isEmpty() || !areAllDenied(open)) {
                        return;
                    }
                }
                all.forEach(other -> other.loop.execute(() -> other.deny(open, error)));
            });
        }
    }

    /** Notes one more denial in each of the attempts: the next one may find others before them. */
    static boolean areAllDenied(List<Attempt> open) {
        List<List<Attempt>> denials = new ArrayList<>();
        open.stream().map(a -> a.denials).filter(d -> !d.isEmpty()).findFirst().ifPresent(denials::addAll);
        denials.removeIf(before -> !open.containsAll(before));
        denials.add(List.copyOf(open));
        open.forEach(a -> a.denials = denials);
        return denials.size() >= open.size();
    }
}
