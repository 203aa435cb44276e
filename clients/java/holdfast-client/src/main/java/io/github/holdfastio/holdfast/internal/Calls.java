package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HoldfastException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The calls of an application, which come from any thread, and are carried out by the loop. */
public final class Calls {
    private Calls() {}

    /**
     * Begins a call. The future of the application completes in the executor of the client; if it is cancelled, so is the
     * call, and what that has yielded nevertheless is discarded.
     */
    public static <T> CompletableFuture<T> start(
            Core core, Function<Cancellation, CompletableFuture<T>> begin, Consumer<? super T> discard) {
        return start(core, core::call, begin, discard);
    }

    /** Carries a call out, and waits for its end. When it is interrupted, what it has yielded is discarded. */
    public static <T> T await(
            Core core, Function<Cancellation, CompletableFuture<T>> begin, Consumer<? super T> discard)
            throws InterruptedException {
        CompletableFuture<T> call = start(core, Runnable::run, begin, discard);
        try {
            return call.get();
        } catch (InterruptedException e) {
            if (!call.cancel(false) && !call.isCompletedExceptionally()) {
                T yielded = call.join();
                core.loop.execute(() -> discard.accept(yielded));
            }
            throw e;
        } catch (ExecutionException e) {
            throw rethrown(e.getCause());
        }
    }

    /** Carries a call out that yields nothing to be discarded. */
    public static <T> T await(Core core, Function<Cancellation, CompletableFuture<T>> begin)
            throws InterruptedException {
        return await(core, begin, yielded -> {});
    }

    private static <T> CompletableFuture<T> start(
            Core core,
            Executor completes,
            Function<Cancellation, CompletableFuture<T>> begin,
            Consumer<? super T> discard) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Cancellation cancellation = new Cancellation();
        core.loop.execute(() -> begun(begin, cancellation).whenComplete((yielded, error) -> completes.execute(() -> {
            if (error != null) {
                result.completeExceptionally(Failures.cause(error));
            } else if (!result.complete(yielded)) {
                core.loop.execute(() -> discard.accept(yielded));
            }
        })));
        result.whenComplete((yielded, error) -> {
            if (result.isCancelled()) {
                core.loop.execute(cancellation::cancel);
            }
        });
        return result;
    }

    /** How several calls have ended. */
    record Outcomes<T extends @Nullable Object>(List<T> values, List<Throwable> errors) {}

    /** Carries out a call for each of several things, all at once. */
    static <I, T extends @Nullable Object> CompletableFuture<Outcomes<T>> each(
            List<I> all, Cancellation cancellation, BiFunction<I, Cancellation, CompletableFuture<T>> begin) {
        List<Cancellation> each = all.stream().map(one -> new Cancellation()).toList();
        List<CompletableFuture<T>> calls = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            I one = all.get(i);
            calls.add(begun(c -> begin.apply(one, c), each.get(i)));
        }
        cancellation.step(() -> each.forEach(Cancellation::cancel));
        return CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new)).handle((v, error) -> {
            Outcomes<T> outcomes = new Outcomes<>(new ArrayList<>(), new ArrayList<>());
            calls.forEach(call -> call.handle((value, e) ->
                    e == null ? outcomes.values.add(value) : outcomes.errors.add(Failures.cause(e))));
            return outcomes;
        });
    }

    private static <T> CompletableFuture<T> begun(
            Function<Cancellation, CompletableFuture<T>> begin, Cancellation cancellation) {
        try {
            return begin.apply(cancellation);
        } catch (RuntimeException e) {
            return Failures.failed(e);
        }
    }

    /** Returns an error with the stack trace of the caller. */
    public static RuntimeException rethrown(Throwable error) {
        if (error instanceof HoldfastException e) {
            return Failures.again(e, e.operation());
        }
        return error instanceof RuntimeException e ? e : new CancellationException(error.toString());
    }
}
