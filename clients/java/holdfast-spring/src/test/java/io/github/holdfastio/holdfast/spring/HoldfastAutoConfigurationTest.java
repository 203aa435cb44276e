package io.github.holdfastio.holdfast.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.junit.HoldfastTest;
import io.github.holdfastio.holdfast.junit.Server;
import io.nats.client.Connection;
import io.nats.client.NKey;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
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
    private static final ApplicationContextRunner APPLICATION =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class));

    private static ApplicationContextRunner application(Server server) {
        return APPLICATION.withPropertyValues("holdfast.servers=" + server.url());
    }

    private static Connection connect(Server server) {
        try {
            return Nats.connect(Holdfast.options(new Options.Builder().server(server.url())).build());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
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
    void usesTheConnectionOfTheApplication(Server server, Client other) throws Exception {
        Connection connection = connect(server);
        APPLICATION
                .withBean("nats", Connection.class, () -> connection, bean -> bean.setDestroyMethodName(""))
                .withPropertyValues("holdfast.owner=bob")
                .run(context -> {
                    context.getBean(LockRegistry.class).obtain("theirs").lock();
                    assertThat(other.get("theirs").holder().owner()).isEqualTo("bob");
                });
        assertThat(other.get("theirs").held()).isFalse();
        assertThat(connection.getStatus()).isEqualTo(Connection.Status.CONNECTED);
        connection.close();
    }

    @Test
    void connectsToTheServersThatAreSet(Server server) throws Exception {
        Connection elsewhere = connect(server);
        elsewhere.close();
        application(server)
                .withBean("nats", Connection.class, () -> elsewhere)
                .run(context -> context.getBean(Client.class).lock("ours").release());
    }

    @Test
    void logsInWithCredentials(@TempDir Path folder) throws Exception {
        NKey user = NKey.createUser(null);
        Path file = Files.writeString(folder.resolve("ann.creds"), """
                -----BEGIN NATS USER JWT-----
                of.ann.x
                ------END NATS USER JWT------
                -----BEGIN USER NKEY SEED-----
                %s
                ------END USER NKEY SEED------
                """.formatted(new String(user.getSeed())));
        try (LoginServer nats = new LoginServer()) {
            APPLICATION
                    .withPropertyValues("holdfast.servers=" + nats.url(), "holdfast.credentials=" + file)
                    .run(context -> assertThat(context).hasSingleBean(Client.class));
            JsonValue login = JsonParser.parse(nats.login());
            assertThat(login.map.get("jwt").string).isEqualTo("of.ann.x");
            byte[] signature = Base64.getUrlDecoder().decode(login.map.get("sig").string);
            assertThat(user.verify(LoginServer.NONCE.getBytes(UTF_8), signature)).isTrue();
        }
    }

    @Test
    void describesItsProperties() throws IOException {
        JsonValue metadata = JsonParser.parse(getClass()
                .getResourceAsStream("/META-INF/spring-configuration-metadata.json")
                .readAllBytes());
        assertThat(metadata.map.get("properties").array)
                .extracting(property -> property.map.get("name").string)
                .contains("holdfast.servers", "holdfast.credentials", "holdfast.ttl", "holdfast.registry.prefix");
        assertThat(metadata.map.get("properties").array).allSatisfy(
                property -> assertThat(property.map.get("description").string).isNotEmpty());
    }

    @Test
    void isNamedAsAutoConfiguration() {
        assertThat(ImportCandidates
                        .load(AutoConfiguration.class, null)
                        .getCandidates())
                .contains(HoldfastAutoConfiguration.class.getName());
    }
}
