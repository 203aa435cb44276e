package io.github.holdfastio.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.junit.HoldfastTest;
import io.github.holdfastio.holdfast.junit.Server;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.integration.support.locks.DefaultLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;

@HoldfastTest
@Timeout(120)
class HoldfastAutoConfigurationTest {
    private static ApplicationContextRunner application(Server server) {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class))
                .withPropertyValues("holdfast.servers=" + server.url());
    }

    @Test
    void hasARegistryAndAClient(Server server, Client other) {
        application(server)
                .withPropertyValues("holdfast.owner=ann", "holdfast.ttl=1m", "holdfast.registry.prefix=app:")
                .run(context -> {
                    var lock = context.getBean(HoldfastLockRegistry.class).obtain("report");
                    lock.lock();
                    var lease = other.get("app:report").holder();
                    assertThat(lease.owner()).isEqualTo("ann");
                    assertThat(lease.ttl()).hasMinutes(1);
                    lock.unlock();
                    assertThat(context.getBean(Client.class).owner()).isEqualTo("ann");
                });
    }

    @Test
    void releasesLocksAtItsEnd(Server server, Client other) throws Exception {
        application(server).run(context -> {
            context.getBean(LockRegistry.class).obtain("left").lock();
            assertThat(other.get("left").held()).isTrue();
        });
        assertThat(other.get("left").held()).isFalse();
    }

    @Test
    void leavesTheRegistryOfTheApplication(Server server) {
        application(server)
                .withBean(DefaultLockRegistry.class)
                .run(context -> assertThat(context).getBean(LockRegistry.class).isInstanceOf(DefaultLockRegistry.class));
    }

    @Test
    void needsNoSpringIntegration(Server server) {
        application(server)
                .withClassLoader(new FilteredClassLoader("org.springframework.integration"))
                .run(context -> assertThat(context).hasSingleBean(Client.class).doesNotHaveBean("holdfastLockRegistry"));
    }

    @Test
    void isNamedAsAutoConfiguration() {
        assertThat(ImportCandidates
                        .load(AutoConfiguration.class, null)
                        .getCandidates())
                .contains(HoldfastAutoConfiguration.class.getName());
    }
}
