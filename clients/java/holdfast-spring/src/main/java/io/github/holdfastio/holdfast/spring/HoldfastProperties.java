package io.github.holdfastio.holdfast.spring;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code holdfast.*} of an application.
 *
 * @param servers the addresses of NATS, with commas between them; null: the connection is the bean of the application,
 *     or to nats://127.0.0.1:4222 if there is none
 * @param credentials the file of credentials of NATS, for a connection to servers; null: none
 * @param owner the name of the holder at the service; null: one with the host, the process and a random part
 * @param ttl how long a lock stays held after its process has died
 * @param timeout how long a call waits for an answer
 * @param prefix that of the subjects of the deployment
 * @param registry of the locks of Spring Integration
 */
@ConfigurationProperties("holdfast")
public record HoldfastProperties(
        @Nullable String servers,
        @Nullable String credentials,
        @Nullable String owner,
        @DefaultValue("30s") Duration ttl,
        @DefaultValue("15s") Duration timeout,
        @DefaultValue("holdfast") String prefix,
        @DefaultValue Registry registry) {

    /**
     * The properties {@code holdfast.registry.*}.
     *
     * @param prefix what the names of the locks begin with
     */
    public record Registry(@DefaultValue("") String prefix) {}
}
