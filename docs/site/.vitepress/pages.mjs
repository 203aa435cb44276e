// The pages of the site by task. Each page of docs/ is in one group; the order is that of the sidebar and of llms.txt.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../..", import.meta.url));

// A name without a slash is a page of docs/; one that ends in /* is every page of that folder which no group names.
const groups = [
  ["Start", ["/README.md", "README.md"]],
  ["Learn", ["tutorial.md"]],
  ["Do", [
    "service.md", "choose.md", "move.md", "recipes.md", "guards.md", "clients.md", "/clients/typescript/README.md", "/clients/python/README.md",
    "/clients/java/README.md", "events.md", "deploy.md", "kubernetes.md", "secured.md", "access.md", "tenants.md", "identity.md", "backup.md", "operate.md",
    "monitor.md", "runbooks.md", "page.md",
  ]],
  ["Know", ["concepts.md", "fencing.md", "failures.md"]],
  ["Look up", ["wire.md", "cli.md", "settings.md", "metrics.md", "limits.md", "compatibility.md", "/CHANGELOG.md"]],
  ["Judge", ["testing.md", "track-record.md", "performance.md", "performance/*", "security.md", "/SECURITY.md", "results/*", "reports/*"]],
  ["Build", ["/CONTRIBUTING.md", "design.md", "/*", "decisions/*"]],
];

// tracked are the Markdown files of the repository, as paths from its root.
const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], { cwd: root, encoding: "utf8" })
  .split("\n").filter((f) => f && existsSync(join(root, f)) && !f.split("/").some((part) => part.startsWith(".") || part === "testdata"));

// sidebar are the groups with the files that exist.
export const sidebar = group();

export const files = sidebar.flatMap((g) => g.files);

function group() {
  const path = (name) => posix.join(name.startsWith("/") ? "." : "docs", name);
  const rest = new Set(tracked);
  for (const [, names] of groups) for (const name of names) rest.delete(path(name));
  const within = (dir) => [...rest].filter((f) => (dir === "." ? !f.startsWith("docs/") : posix.dirname(f) === dir)).sort(byIndex);
  const found = groups.map(([text, names]) => ({
    text,
    files: names.flatMap((n) => (n.endsWith("/*") ? within(posix.dirname(path(n))) : existsSync(join(root, path(n))) ? [path(n)] : [])),
  }));
  for (const { files } of found) for (const f of files) rest.delete(f);
  if (rest.size > 0) throw new Error(`${[...rest].join(", ")}: no group of docs/site/.vitepress/pages.mjs has this page; add it to one`);
  return found;
}

// byIndex puts the README of a folder first.
function byIndex(a, b) {
  const key = (f) => f.replace(/README\.md$/, "");
  return key(a) < key(b) ? -1 : 1;
}

// urlOf returns the page of a file: the README of a folder is its index.
export function urlOf(file) {
  return file.replace(/(^|\/)README\.md$/, "$1index.md");
}

// summaryOf returns the title of a page, which is its first heading, and the beginning of its first paragraph: a sentence,
// and what follows it as long as that is less than a line.
export function summaryOf(file) {
  const text = readFileSync(join(root, file), "utf8");
  const title = plain(text.match(/^# (.+)$/m)?.[1] ?? file);
  const paragraph = text.split(/\n\s*\n/).map((p) => p.trim()).find((p) => /^[\p{L}\d`*[(]/u.test(p) && !p.startsWith("* ")) ?? "";
  const sentences = plain(paragraph.replace(/^\*\*\w+\.\*\* /, "").replace(/\s+/g, " ")).match(/.+?([.:?!](?=\s|$)|$)/g) ?? [];
  let sentence = "";
  while (sentence.length < 40 && sentences.length > 0) sentence += sentences.shift();
  return { title, sentence: sentence.trim().replace(/:$/, ".") };
}

const plain = (markdown) => markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*`]/g, "").trim();
