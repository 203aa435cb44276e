package io.github.holdfastio.holdfast.internal;

import io.nats.client.Connection;
import io.nats.client.ErrorListener;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
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

    private final @Nullable ErrorListener behind;
    private final List<Sender> senders = new CopyOnWriteArrayList<>();

    public Denials(@Nullable ErrorListener behind) {
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

    @Override
    public void errorOccurred(Connection connection, String error) {
        Matcher found = DENIAL.matcher(error);
        if (found.find()) {
            String subject = found.group(1).toLowerCase(Locale.ROOT);
            deny(subject, error + "; holdfast access prints the permissions of a client");
        }
        if (behind != null) {
            behind.errorOccurred(connection, error);
        } else {
            Loop.LOG.log(System.Logger.Level.WARNING, "NATS: {0}", error);
        }
    }

    @Override
    public void exceptionOccurred(Connection connection, Exception exception) {
        if (behind != null) {
            behind.exceptionOccurred(connection, exception);
        }
    }

    @Override
    public void slowConsumerDetected(Connection connection, io.nats.client.Consumer consumer) {
        if (behind != null) {
            behind.slowConsumerDetected(connection, consumer);
        }
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

    private static boolean areAllDenied(List<Attempt> open) {
        // They are counted in the oldest attempt: without it the earlier denials may have been of that one.
        Attempt first = open.stream().min(Comparator.comparingLong(a -> a.sent)).orElseThrow();
        Set<Attempt> now = new HashSet<>(open);
        first.denials.removeIf(before -> !now.containsAll(before));
        first.denials.add(now);
        return first.denials.size() >= open.size();
    }
}
