import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The load of Redisson on one Redis. Its locks are renewed, as it is by default; with the property fenced they have tokens. */
final class RedissonLoad implements Load {
    private static final boolean FENCED = Boolean.getBoolean("fenced");

    private final RedissonClient redisson;

    private RedissonLoad(String url) {
        Config config = new Config();
        config.useSingleServer().setAddress(url);
        redisson = Redisson.create(config);
    }

    public static void main(String[] args) throws Exception {
        Load.run(args, RedissonLoad::new);
    }

    @Override
    public void pair(String name) {
        if (FENCED) {
            RFencedLock lock = redisson.getFencedLock(name);
            if (lock.lockAndGetToken() <= 0) {
                throw new IllegalStateException("no token");
            }
            lock.unlock();
        } else {
            RLock lock = redisson.getLock(name);
            lock.lock();
            lock.unlock();
        }
    }

    @Override
    public void close() {
        redisson.shutdown();
    }
}
