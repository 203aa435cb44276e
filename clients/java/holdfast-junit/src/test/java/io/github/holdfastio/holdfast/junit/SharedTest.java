package io.github.holdfastio.holdfast.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.holdfastio.holdfast.Client;
import java.net.ConnectException;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs the classes below, which are no tests by their names. */
@Timeout(60)
class SharedTest {
    static final List<URI> SEEN = new ArrayList<>();

    @Test
    void classesThatSayItHaveOneNode() {
        SummaryGeneratingListener results = new SummaryGeneratingListener();
        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request()
                .selectors(Stream.of(SharedOnce.class, SharedAgain.class, Alone.class).map(c -> selectClass(c)).toList())
                .build(), results);
        assertEquals(List.of(), results.getSummary().getFailures());
        assertEquals(3, SEEN.size());
        assertEquals(SEEN.get(0), SEEN.get(1));
        assertNotEquals(SEEN.get(0), SEEN.get(2));
        for (URI url : SEEN) { // they have ended with the run
            assertThrows(ConnectException.class, () -> new Socket(url.getHost(), url.getPort()).close());
        }
    }
}

@HoldfastTest(shared = true)
final class SharedOnce {
    @Test
    void stopsTheNode(Server server, Client client) throws InterruptedException {
        SharedTest.SEEN.add(URI.create(server.url()));
        client.lock("kept");
        server.delayGrants(Duration.ofHours(1));
        server.stop();
    }
}

@HoldfastTest(shared = true)
final class SharedAgain {
    @Test
    void findsItAsItShouldBe(Server server, Client client) throws InterruptedException {
        SharedTest.SEEN.add(URI.create(server.url()));
        assertEquals(2, client.lock("kept").token());
    }
}

@HoldfastTest
final class Alone {
    @Test
    void hasANodeOfItsOwn(Server server) {
        SharedTest.SEEN.add(URI.create(server.url()));
    }
}
