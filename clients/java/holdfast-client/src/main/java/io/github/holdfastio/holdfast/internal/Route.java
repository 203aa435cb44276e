package io.github.holdfastio.holdfast.internal;

/**
 * The way of an attempt: directly to the owner of a shard, or to any node, which forwards it.
 *
 * @param operation the operation
 * @param key that of the resource, or the session; empty: the request is about none
 * @param shard the shard whose owner takes it, as it stands in subjects; empty: any node does
 */
record Route(String operation, String key, String shard) {
    boolean direct() {
        return !shard.isEmpty();
    }
}
