package io.github.holdfastio.holdfast.junit;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.Holdfast;
import java.time.Duration;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** The extension behind {@link HoldfastTest}. */
public final class HoldfastExtension implements ParameterResolver, AfterEachCallback, AfterAllCallback {
    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(HoldfastExtension.class);

    /** A store has what those around it have, so a class must not find the shared node under the name of its own. */
    private static final ExtensionContext.Namespace SHARED = NAMESPACE.append("shared");

    /** Makes an extension, as JUnit does. */
    public HoldfastExtension() {}

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == Server.class || type == Client.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Server server = server(context);
        if (parameter.getParameter().getType() == Server.class) {
            return server;
        }
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(Client.class, type -> connect(server), Client.class);
    }

    private static Client connect(Server server) {
        try {
            return Holdfast.connect(server.url());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ParameterResolutionException("interrupted while the client connected", e);
        }
    }

    private static Server server(ExtensionContext context) {
        // The parameters of a constructor and of BeforeAll are resolved in the context of the class.
        return nodes(context).getOrComputeIfAbsent(Server.class, type -> Server.create(), Server.class);
    }

    /** Returns where the node of a test is kept. */
    private static ExtensionContext.Store nodes(ExtensionContext context) {
        boolean shared = AnnotationSupport.findAnnotation(outermost(context.getRequiredTestClass()), HoldfastTest.class)
                .map(HoldfastTest::shared)
                .orElse(false);
        if (shared) {
            return context.getRoot().getStore(SHARED);
        }
        ExtensionContext at = context;
        while (at.getParent().filter(parent -> parent.getTestClass().isPresent()).isPresent()) {
            at = at.getParent().orElseThrow();
        }
        return at.getStore(NAMESPACE);
    }

    /** Nested classes are in the one that has the annotation. */
    private static Class<?> outermost(Class<?> type) {
        Class<?> around = type.getEnclosingClass();
        return around == null ? type : outermost(around);
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Server server = nodes(context).get(Server.class, Server.class);
        if (server == null) {
            return;
        }
        server.delayGrants(Duration.ZERO);
        server.start();
        close(context);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        close(context);
        Server server = context.getStore(NAMESPACE).remove(Server.class, Server.class);
        if (server != null) { // it is not in the outer class, or shared: that one ends with the run, or the process
            server.close();
        }
    }

    private static void close(ExtensionContext context) {
        Client client = context.getStore(NAMESPACE).remove(Client.class, Client.class);
        if (client != null) {
            client.close();
        }
    }
}
