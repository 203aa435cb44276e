package io.github.holdfastio.holdfast.fence;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.InvalidException;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ClaimTest {
    /** What the clients and guards of all languages agree on. */
    private static List<JsonValue> shared(String part) throws IOException {
        return JsonParser.parse(Files.readString(Path.of("../../conformance/claims.json"))).map.get(part).array;
    }

    @Test
    void hasTheFencesOfAllLanguages() throws IOException {
        List<JsonValue> fences = shared("fences");
        assertTrue(fences.size() > 5);
        for (JsonValue one : fences) {
            long token = Long.parseLong(one.map.get("token").string);
            String fence = one.map.containsKey("fence") ? one.map.get("fence").string : null;
            if (fence == null) {
                assertThrows(InvalidException.class, () -> Fence.format(token), () -> "token " + token);
            } else {
                assertEquals(fence, Fence.format(token));
                assertEquals(token, Fence.parse(fence));
            }
        }
    }

    @Test
    void hasTheClaimsOfAllLanguages() throws IOException {
        List<JsonValue> claims = shared("claims");
        assertTrue(claims.size() > 10);
        for (JsonValue one : claims) {
            String resource = one.map.get("resource").string;
            String fence = one.map.get("fence").string;
            if (Boolean.TRUE.equals(one.map.get("valid").bool)) {
                assertDoesNotThrow(() -> Claim.of(resource, fence), resource);
            } else {
                assertThrows(InvalidException.class, () -> Claim.of(resource, fence), () -> resource + " " + fence);
            }
        }
    }

    @Test
    void travelsInHeaders() {
        Claim claim = new Claim("orders.42", 34);
        Map<String, List<String>> headers =
                Map.of("fencing-token", List.of("000000000000034"), "Fencing-Resource", List.of("orders.42"));
        assertEquals(claim, Claim.fromHeaders(headers, null));
        assertEquals(claim, Claim.fromHeaders(headers, "orders.42"));
        assertEquals(Map.of("Fencing-Token", "000000000000034", "Fencing-Resource", "orders.42"), claim.headers());
        assertThrows(InvalidException.class, () -> Claim.fromHeaders(headers, "orders.43"));
        assertThrows(InvalidException.class, () -> Claim.fromHeaders(Map.of(), "orders.42"));
        assertThrows(InvalidException.class, () -> new Claim(" a", 1).headers());
    }

    @Test
    void passesByTheRule() {
        Claim claim = new Claim("orders.42", 34);
        Rule.REPEATABLE.check(claim, 34);
        Rule.ONCE.check(claim, 33);
        StaleClaimException stale =
                assertThrows(StaleClaimException.class, () -> Rule.REPEATABLE.check(claim, 35));
        assertSame(claim, stale.claim());
        assertEquals(35, stale.highest());
        assertEquals("\"orders.42\": stale fencing token: 000000000000034, after 000000000000035 was seen",
                stale.getMessage());
        SpentClaimException spent = assertThrows(SpentClaimException.class, () -> Rule.ONCE.check(claim, 34));
        assertEquals("\"orders.42\": fencing token was used before: 000000000000034", spent.getMessage());
        assertEquals(34, Rule.REPEATABLE.passes(claim));
        assertEquals(33, Rule.ONCE.passes(claim));
    }
}
