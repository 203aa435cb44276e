package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.internal.Connecting;
import io.github.holdfastio.holdfast.internal.Key;
import io.nats.client.Connection;
import io.nats.client.Options;

/** Makes clients, and computes what all clients of Holdfast compute alike. */
public final class Holdfast {
    private Holdfast() {}

    /**
     * Connects to NATS as a holder of locks needs it.
     *
     * @param servers the URL of a server, or several with commas between, so that the end of one is no outage
     * @return a client, which closes its connection
     * @throws UnavailableException with the reason LOGIN or NOT_CONNECTED, if no server could be reached
     * @throws InterruptedException if the thread was interrupted
     */
    public static Client connect(String servers) throws InterruptedException {
        return connect(servers, ClientOptions.defaults());
    }

    /**
     * Connects to NATS as a holder of locks needs it.
     *
     * @param servers the URL of a server, or several with commas between
     * @param options those of the client
     * @return a client, which closes its connection
     * @throws UnavailableException with the reason LOGIN or NOT_CONNECTED, if no server could be reached
     * @throws InvalidException if an option breaks a rule
     * @throws InterruptedException if the thread was interrupted
     */
    public static Client connect(String servers, ClientOptions options) throws InterruptedException {
        return connect(new Options.Builder().servers(servers.split(",")), options);
    }

    /**
     * Connects to NATS with options of the application, such as a login.
     *
     * @param nats the options of the connection, which {@link #options} completes
     * @param options those of the client
     * @return a client, which closes its connection
     * @throws UnavailableException with the reason LOGIN or NOT_CONNECTED, if no server could be reached
     * @throws InvalidException if an option breaks a rule
     * @throws InterruptedException if the thread was interrupted
     */
    public static Client connect(Options.Builder nats, ClientOptions options) throws InterruptedException {
        Connection connection = Connecting.connect(nats);
        try {
            return new Client(connection, options, true);
        } catch (RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    /**
     * Returns a client on a connection of the application, which stays open when the client is closed. Make its options
     * with {@link #options}: otherwise a client does not learn what NATS denies to its user, and waits for answers.
     *
     * @param connection the connection, which several clients may have
     * @return a client
     */
    public static Client client(Connection connection) {
        return client(connection, ClientOptions.defaults());
    }

    /**
     * Returns a client on a connection of the application, as {@link #client(Connection)}.
     *
     * @param connection the connection
     * @param options those of the client
     * @return a client
     * @throws InvalidException if an option breaks a rule
     */
    public static Client client(Connection connection, ClientOptions options) {
        return new Client(connection, options, false);
    }

    /**
     * Sets what suits a holder of locks: the connection never gives up, tries again within half a second, keeps nothing
     * for later that is sent without a connection, and notices a dead server within some 10 s. Its error listener reports
     * what NATS denies to the clients, and then to the listener that was set before.
     *
     * @param options the options of the application, with its error listener
     * @return the same builder
     */
    public static Options.Builder options(Options.Builder options) {
        return Connecting.options(options);
    }

    /**
     * Returns the key of a resource: its form in a subject. The name is normalised to Unicode NFC first.
     *
     * @param name the resource
     * @return the key
     * @throws InvalidException if the name is not 1 to 512 bytes of UTF-8 without control characters
     */
    public static String encodeKey(String name) {
        return Key.encode(name);
    }

    /**
     * Returns the shard of a key: FNV-1a-32(key) mod shards.
     *
     * @param key the key
     * @param shards how many shards there are
     * @return the number of the shard, from 0
     * @throws InvalidException if shards is less than 1
     */
    public static long shardOf(String key, long shards) {
        return Key.shard(key, shards);
    }
}
