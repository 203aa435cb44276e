package io.github.holdfastio.holdfast.shedlock;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.junit.HoldfastTest;
import java.time.Duration;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.BeforeEach;

/** What ShedLock has each provider pass. */
@HoldfastTest
class SupportTest extends AbstractExtensibleLockProviderIntegrationTest {
    private Client client;
    private HoldfastLockProvider provider;

    @BeforeEach
    void connect(Client client) {
        this.client = client;
        this.provider = new HoldfastLockProvider(client);
    }

    @Override
    protected ExtensibleLockProvider getLockProvider() {
        return provider;
    }

    /** It waits for the end of a lease, which has a TTL of 1 s at least. */
    @Override
    public void shouldTimeout() throws InterruptedException {
        doTestTimeout(Duration.ofSeconds(3));
    }

    @Override
    protected void assertLocked(String name) {
        assertTrue(isHeld(name));
    }

    @Override
    protected void assertUnlocked(String name) {
        assertFalse(isHeld(name));
    }

    private boolean isHeld(String name) {
        try {
            return client.get(name).held();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
