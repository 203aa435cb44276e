package io.github.holdfastio.holdfast.spring;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.ClientOptions;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.LockOptions;
import io.nats.client.Connection;
import io.nats.client.Nats;
import io.nats.client.Options;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.support.locks.LockRegistry;

/** Gives an application a client by its properties, and Spring Integration a lock registry, unless it has its own. */
@AutoConfiguration
@EnableConfigurationProperties(HoldfastProperties.class)
public class HoldfastAutoConfiguration {
    /** Makes the configuration, as Spring does. */
    public HoldfastAutoConfiguration() {}

    /**
     * Returns the client of the application, which is connected. It is closed with the application, which releases its
     * locks. A connection of the application stays open for it; make its options with {@link Holdfast#options}.
     *
     * @param properties where NATS is, and what the client is to be like
     * @param connections the connection to NATS of the application, which is used if no servers are set
     * @return the client
     * @throws InterruptedException if the thread was interrupted
     */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    public Client holdfastClient(HoldfastProperties properties, ObjectProvider<Connection> connections)
            throws InterruptedException {
        ClientOptions options = ClientOptions.defaults()
                .owner(properties.owner())
                .ttl(properties.ttl())
                .timeout(properties.timeout())
                .prefix(properties.prefix());
        String servers = properties.servers();
        Connection connection = servers == null ? connections.getIfUnique() : null;
        if (connection != null) {
            return Holdfast.client(connection, options);
        }
        Options.Builder nats = new Options.Builder().servers((servers == null ? Options.DEFAULT_URL : servers).split(","));
        if (properties.credentials() != null) {
            nats.authHandler(Nats.credentials(properties.credentials()));
        }
        return Holdfast.connect(nats, options);
    }

    /** The part for Spring Integration. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(LockRegistry.class)
    static class RegistryConfiguration {
        @Bean
        @ConditionalOnMissingBean(LockRegistry.class)
        HoldfastLockRegistry holdfastLockRegistry(Client client, HoldfastProperties properties) {
            return new HoldfastLockRegistry(client, properties.registry().prefix(), LockOptions.defaults());
        }
    }
}
