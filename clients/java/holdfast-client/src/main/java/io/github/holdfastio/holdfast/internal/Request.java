package io.github.holdfastio.holdfast.internal;

import java.util.function.Supplier;

/**
 * What an exchange sends.
 *
 * @param operation the operation
 * @param resource the name that errors show; empty: the request is about none
 * @param key that of the resource; empty: the request is about none
 * @param message returns the request as it is to be sent now; it must be the same one to the service each time
 * @param maxPause bounds the pauses between attempts
 * @param waits the service may leave the request without an answer for a time
 * @param urgent it is sent at once, however many are on their way
 * @param givesUp a caller waits, whose call ends when the client begins to close. The caller learns of what another
 *     attempt would hardly change: that NATS denies the request, that the deployment has not answered this client at
 *     all, or that its shard has had no owner for long
 */
record Request(
        String operation,
        String resource,
        String key,
        Supplier<Message> message,
        long maxPause,
        boolean waits,
        boolean urgent,
        boolean givesUp) {

    static Request of(String operation, String resource, String key, Message message) {
        return new Request(operation, resource, key, () -> message, Pauses.MAX_RESEND, false, false, false);
    }

    Request asUrgent() {
        return new Request(operation, resource, key, message, maxPause, waits, true, givesUp);
    }

    Request thatGivesUp() {
        return new Request(operation, resource, key, message, maxPause, waits, urgent, true);
    }
}
