package io.github.holdfastio.conformance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfastio.holdfast.junit.HoldfastTest;
import io.github.holdfastio.holdfast.junit.Server;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The examples of README.md, and that of the repository's, compile, run on a real node, and print what it shows. */
@HoldfastTest
class ReadmeTest {
    private static final Path README = Path.of("../README.md");
    private static final Path MAIN = Path.of("../../../README.md");
    private static final String URL = "nats://127.0.0.1:4222";
    private static final Pattern EXAMPLE =
            Pattern.compile("(?ms)^```java( \\w+)?\\n(.*?)^```\\n(?:\\n^```text\\n(.*?)^```\\n)?");

    /** What stands before the examples that are parts of a program. */
    private static final String IMPORTS = Stream.of(
                    "io.github.holdfastio.holdfast",
                    "io.github.holdfastio.holdfast.fence.jdbc",
                    "io.github.holdfastio.holdfast.junit",
                    "io.github.holdfastio.holdfast.shedlock",
                    "java.time",
                    "java.util.concurrent",
                    "net.javacrumbs.shedlock.core",
                    "org.junit.jupiter.api",
                    "org.junit.platform.engine.discovery",
                    "org.junit.platform.launcher.core",
                    "org.junit.platform.launcher.listeners")
            .map(name -> "import " + name + ".*;\n")
            .collect(Collectors.joining());

    private record Example(String kind, String code, String output) {
        static List<Example> of(Path page) throws IOException {
            return EXAMPLE.matcher(Files.readString(page)).results().map(Example::of).toList();
        }

        private static Example of(MatchResult found) {
            String kind = found.group(1) == null ? "" : found.group(1).strip();
            return new Example(kind, found.group(2), found.group(3) == null ? "" : found.group(3));
        }

        /** Returns the example as a program of its own. */
        String program() {
            return switch (kind) {
                case "junit" -> IMPORTS + "class Example { public static void main(String[] args) {"
                        + " var summary = new SummaryGeneratingListener();"
                        + " LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request().selectors("
                        + "DiscoverySelectors.selectClass(ReportTest.class)).build(), summary);"
                        + " summary.getSummary().printFailuresTo(new java.io.PrintWriter(System.err));"
                        + " System.exit(summary.getSummary().getTestsSucceededCount() == 1 ? 0 : 1); } }\n" + code;
                case "postgres" -> IMPORTS + "class Example {"
                        + " static Void ship(java.sql.Connection connection, int order) throws java.sql.SQLException {"
                        + " var marks = connection.createStatement()"
                        + ".executeQuery(\"SELECT token FROM holdfast_marks\");"
                        + " while (marks.next()) { System.out.println(marks.getLong(1)); } return null; }"
                        + " public static void main(String[] args) throws Exception {"
                        + " var dataSource = new org.postgresql.ds.PGSimpleDataSource(); dataSource.setUrl(args[0]);"
                        + " try (var connection = dataSource.getConnection()) {"
                        + " new Guard(Dialect.POSTGRESQL).createTable(connection); }"
                        + " try (Client client = Holdfast.connect(\"" + URL + "\")) {\n" + code + "} } }\n";
                default -> code.contains(" main(") ? code : IMPORTS
                        + "class Example { public static void main(String[] args) throws Exception {"
                        + " try (Client client = Holdfast.connect(\"" + URL + "\")) {\n" + code + "} } }\n";
            };
        }
    }

    @TestFactory
    Stream<DynamicTest> examples(Server server, @TempDir Path folder) throws IOException {
        List<Example> all = Example.of(README);
        return all.stream().map(example -> DynamicTest.dynamicTest(
                example.code.lines().findFirst().orElseThrow(), () -> {
                    if (example.kind.equals("postgres")) {
                        try (Database database = Database.postgresql()) {
                            run(new Example(example.kind, example.code, "1\n"), server, folder, database.url());
                        }
                    } else {
                        run(example, server, folder);
                    }
                }));
    }

    @Test
    void exampleOfTheRepository(Server server, @TempDir Path folder) throws Exception {
        Example found = Example.of(MAIN).get(0);
        run(new Example("", found.code, "written under 000000000000001\n"), server, folder);
        assertEquals("paid\n", Files.readString(folder.resolve("7.txt")));
    }

    @Test
    void allExamplesAreFound() throws IOException {
        String text = Files.readString(README);
        List<Example> all = Example.of(README);
        assertEquals(6, all.size());
        assertEquals(all.size(), text.split("```java").length - 1);
        assertEquals(
                all.stream().filter(example -> !example.output.isEmpty()).count(), text.split("```text").length - 1);
    }

    private static void run(Example example, Server server, Path folder, String... arguments) throws Exception {
        String program = example.program();
        assertTrue(program.contains(URL) || !program.contains("Holdfast.connect"));
        Path source = Files.writeString(folder.resolve("Example.java"), program.replace(URL, server.url()));
        Path errors = folder.resolve("errors");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), source.toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectError(errors.toFile())
                .start();
        CompletableFuture.delayedExecutor(1, TimeUnit.MINUTES).execute(process::destroyForcibly);
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertEquals(0, process.waitFor(), () -> {
            try {
                return program + Files.readString(errors);
            } catch (IOException e) {
                return e.toString();
            }
        });
        assertEquals(example.output, output);
    }
}
