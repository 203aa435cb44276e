package io.github.holdfastio.holdfast.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class DenialsTest {
    private final Attempt a = attempt();
    private final Attempt b = attempt();
    private final Attempt c = attempt();

    private static Attempt attempt() {
        return new Attempt(1, new Route("acquire", "k", ""), new byte[0], null, 1);
    }

    @Test
    void asManyDenialsAsOpenAttempts() {
        assertFalse(Denials.areAllDenied(List.of(a, b)));
        assertTrue(Denials.areAllDenied(List.of(a, b)));
    }

    @Test
    void anAttemptOfAnEarlierSenderComesBetween() {
        assertFalse(Denials.areAllDenied(List.of(b, c)));
        assertFalse(Denials.areAllDenied(List.of(a, b, c)));
        assertTrue(Denials.areAllDenied(List.of(a, b, c)));
    }

    @Test
    void theDenialOfAnAnsweredAttemptDoesNotCount() {
        assertFalse(Denials.areAllDenied(List.of(a, b, c)));
        assertFalse(Denials.areAllDenied(List.of(a, b)));
        assertTrue(Denials.areAllDenied(List.of(a, b)));
    }

    @Test
    void aDenialHasASubject() {
        assertEquals("hold.acquire.k", Denials.subject("Permissions Violation for Publish to \"hold.acquire.K\""));
        assertEquals("", Denials.subject("Stale Connection"));
        assertEquals("", Denials.subject(null));
    }
}
