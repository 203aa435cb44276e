import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/** A client that is measured; ../../doc.go says how. */
interface Load extends AutoCloseable {
    /** How long what is measured runs before that, so that it is compiled, in seconds. */
    int WARM_UP = 20;

    /** The default TTL of leases, in seconds. */
    int TTL = 30;

    /** Locks and unlocks. */
    void pair(String name) throws InterruptedException;

    /** Does the same with a lock that the client caches. */
    default void cachedPair(String name) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** Locks. */
    default void hold(String name) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** Throws if a lock is lost that is to be held. */
    default void check() {}

    /** Breaks a lock, and returns the nanoseconds from the answer to the signal. */
    default long loss(String name) throws Exception {
        throw new UnsupportedOperationException();
    }

    @Override
    void close();

    /** Opens a client by the URL of its server. */
    interface Opening {
        Load open(String url) throws Exception;
    }

    /** Carries out what the arguments of the program ask for. */
    static void run(String[] args, Opening opening) throws Exception {
        int number = Integer.parseInt(args[2]);
        double seconds = Double.parseDouble(args[3]);
        try (Load load = opening.open(args[1])) {
            System.out.println(switch (args[0]) {
                case "pairs" -> repeated(load::pair, "pairs.java.", number, seconds);
                case "cached" -> repeated(load::cachedPair, "cached.java.", number, seconds);
                case "hold" -> held(load, number, seconds);
                case "loss" -> lost(load, number);
                default -> throw new IllegalArgumentException("no such load: " + args[0]);
            });
        }
    }

    /** What a task repeats. */
    interface Pair {
        void make(String name) throws InterruptedException;
    }

    /** Has so many tasks lock and unlock, each a resource of its own. */
    private static String repeated(Pair pair, String prefix, int tasks, double seconds) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(tasks);
        try {
            durations(threads, pair, prefix, tasks, WARM_UP);
            long cpu = used();
            long begun = System.nanoTime();
            long[] all = durations(threads, pair, prefix, tasks, seconds);
            double lasted = (System.nanoTime() - begun) / 1e9;
            return String.format(Locale.ROOT, "{%s,\"rate\":%f,\"cpu_us\":%f}", percentiles(all), all.length / lasted,
                    (used() - cpu) / 1e3 / all.length);
        } finally {
            threads.shutdown();
        }
    }

    private static long[] durations(ExecutorService threads, Pair pair, String prefix, int tasks, double seconds)
            throws Exception {
        long begun = System.nanoTime();
        List<Future<LongStream>> running = new ArrayList<>();
        for (int i = 0; i < tasks; i++) {
            String name = prefix + i;
            running.add(threads.submit(() -> {
                LongStream.Builder took = LongStream.builder();
                for (long since = System.nanoTime(); since - begun < seconds * 1e9; ) {
                    pair.make(name);
                    long now = System.nanoTime();
                    took.add(now - since);
                    since = now;
                }
                return took.build();
            }));
        }
        LongStream all = LongStream.empty();
        for (Future<LongStream> task : running) {
            all = LongStream.concat(all, task.get());
        }
        return all.toArray();
    }

    /** Has the client hold so many locks, and measures when each has been renewed. */
    private static String held(Load load, int locks, double seconds) throws InterruptedException {
        for (int i = 0; i < locks; i++) {
            load.hold("hold.java." + i);
        }
        TimeUnit.SECONDS.sleep(TTL);
        long cpu = used();
        long begun = System.nanoTime();
        TimeUnit.MILLISECONDS.sleep(Math.round(1000 * seconds));
        double percent = 100.0 * (used() - cpu) / (System.nanoTime() - begun);
        load.check();
        return String.format(Locale.ROOT, "{\"core_percent\":%f}", percent);
    }

    /** Breaks so many locks, one after the other, and measures the time from the answer to the signal. */
    private static String lost(Load load, int losses) throws Exception {
        for (int i = 0; i < WARM_UP; i++) { // each takes a second
            load.loss("loss.java.warm." + i);
        }
        long[] all = new long[losses];
        for (int i = 0; i < losses; i++) {
            all[i] = load.loss("loss.java." + i);
        }
        return "{" + percentiles(all) + "}";
    }

    private static String percentiles(long[] nanoseconds) {
        Arrays.sort(nanoseconds);
        return String.format(Locale.ROOT, "\"p50_us\":%f,\"p99_us\":%f", at(nanoseconds, 0.5), at(nanoseconds, 0.99));
    }

    private static double at(long[] sorted, double part) {
        return sorted[Math.min((int) (part * sorted.length), sorted.length - 1)] / 1e3;
    }

    /** Returns the processor time of this process, in nanoseconds. */
    private static long used() {
        return ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class).getProcessCpuTime();
    }
}
