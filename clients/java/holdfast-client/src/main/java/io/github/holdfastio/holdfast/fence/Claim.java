package io.github.holdfastio.holdfast.fence;

import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.internal.Key;
import java.io.Serializable;
import java.util.Collection;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A resource and the token of a lease on it: what a holder shows to the protected resource.
 *
 * @param resource the name of the lock in Unicode NFC, as the lock has it; for a slot {@code <name>#<slot>}
 * @param token what is compared: the number of the fence of the lease; for a slot, the token of the lease
 * @serial exclude
 */
public record Claim(String resource, long token) implements Claimant, Serializable {
    /** The header with the fence, over NATS and HTTP. */
    public static final String TOKEN_HEADER = "Fencing-Token";

    /** The header with the resource, over NATS and HTTP. */
    public static final String RESOURCE_HEADER = "Fencing-Resource";

    /**
     * Checks the claim.
     *
     * @param resource the name of the lock in Unicode NFC
     * @param token the number of the fence
     * @throws InvalidException if the resource is no name of a lock, or the token is not 1 to 900000000000000
     */
    public Claim {
        if (!Key.normalize(resource).equals(resource)) {
            throw new InvalidException("a resource must be in Unicode NFC; use the name of the lock", "", "", null);
        }
        Key.encode(resource);
        if (token < 1 || token > Fence.MAX_TOKEN) {
            throw new InvalidException("fence must be 1 to " + Fence.MAX_TOKEN + ", is " + token, "", resource, null);
        }
    }

    /**
     * Returns a claim.
     *
     * @param resource the name of the lock
     * @param fence 15 digits
     * @return the claim
     * @throws InvalidException if the resource is no name of a lock, or the fence is malformed
     */
    public static Claim of(String resource, String fence) {
        return new Claim(resource, Fence.parse(fence));
    }

    /**
     * Returns the claim that a request over NATS or HTTP carries. Case does not matter in names of headers.
     *
     * @param headers those of the request, each name with its values
     * @param resource what the service protects, if that is one thing: the request may leave it out, and may not name
     *     another; null: the request has to name it
     * @return the claim
     * @throws InvalidException if the claim is missing, malformed, repeated, or of another resource
     */
    public static Claim fromHeaders(
            Map<String, ? extends Collection<String>> headers, @Nullable String resource) {
        Map<String, String> found = new HashMap<>();
        headers.forEach((name, values) -> {
            String field = name.strip().toLowerCase(Locale.ROOT);
            if (field.equals(TOKEN_HEADER.toLowerCase(Locale.ROOT))
                    || field.equals(RESOURCE_HEADER.toLowerCase(Locale.ROOT))) {
                for (String value : values) {
                    if (found.put(field, value) != null) {
                        throw new InvalidException("the request has " + name + " twice; send it once", "", "", null);
                    }
                }
            }
        });
        String fence = found.get(TOKEN_HEADER.toLowerCase(Locale.ROOT));
        String named = found.getOrDefault(RESOURCE_HEADER.toLowerCase(Locale.ROOT), resource);
        if (fence == null || named == null) {
            String lacks = fence == null ? TOKEN_HEADER : RESOURCE_HEADER;
            throw new InvalidException(
                    "the request has no " + lacks + "; send it with the headers of the lock", "", "", null);
        }
        Claim claim = of(named, fence);
        if (resource != null && !claim.resource.equals(resource)) {
            throw new InvalidException(
                    "the request is of '" + named + "', and this service protects '" + resource + "'", "", "", null);
        }
        return claim;
    }

    @Override
    public Claim claim() {
        return this;
    }

    /**
     * Returns what is compared.
     *
     * @return 15 digits
     */
    public String fence() {
        return Fence.format(token);
    }

    /**
     * Returns the headers that carry the claim over NATS or HTTP.
     *
     * @return the headers
     * @throws InvalidException if the resource begins or ends with a space, which a header loses
     */
    public Map<String, String> headers() {
        if (!resource.strip().equals(resource)) {
            throw new InvalidException(
                    "a header loses the spaces around the name; name the lock without them", "", resource, null);
        }
        return Map.of(TOKEN_HEADER, fence(), RESOURCE_HEADER, resource);
    }
}
