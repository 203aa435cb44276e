import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.Holdfast;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.fence.file.Directory;
import java.nio.file.Files;
import java.nio.file.Path;

/** It takes a lock, as an application does that has the released client, writes under it, and prints its token. */
public final class Acquire {
    public static void main(String[] args) throws Exception {
        Directory directory = Directory.open(Files.createDirectories(Path.of("written")));
        try (Client client = Holdfast.connect(args[0]);
                Lock lock = client.lock(args[1])) {
            String text = "token " + lock.token();
            directory.write(lock, args[1] + ".txt", text.getBytes());
            System.out.println(text);
        }
    }
}
