// The site of the Markdown in the repository. Nothing is copied: a page is the file that the repository has.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { defineConfig } from "vitepress";
import { files, root, sidebar, summaryOf, urlOf } from "./pages.mjs";

const repository = "https://github.com/holdfast-io/holdfast";
const version = process.env.VERSION || execFileSync("git", ["describe", "--tags", "--match", "v[0-9]*", "--always", "--dirty"], { cwd: root, encoding: "utf8" }).trim();
const base = process.env.BASE || "/";
const pages = new Set(files);
const icon = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3a5ccc" d="M3 7h10v8H3zM5 7V4a3 3 0 0 1 6 0v3h-2V4a1 1 0 0 0-2 0v3z"/></svg>';

export default defineConfig({
  title: `Holdfast ${version}`,
  description: "A fenced lock service over NATS.",
  lang: "en",
  head: [["link", { rel: "icon", href: "data:image/svg+xml," + encodeURIComponent(icon) }]],
  base,
  srcDir: root,
  outDir: join(root, "dist/site"),
  cacheDir: join(root, "docs/site/.vitepress/cache"),
  ignoreDeadLinks: "localhostLinks", // of the reader's own machine
  srcExclude: ["**/.*/**", "**/target/**", "**/testdata/**"],
  rewrites: urlOf,
  themeConfig: {
    search: { provider: "local" },
    sidebar: sidebar.filter((g) => g.files.length > 0).map(entry),
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: repository }],
  },
  markdown: {
    anchor: { slugify },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      md.core.ruler.push("repository", (state) => follow(state));
      md.renderer.rules.code_block = (tokens, i) => `<div class="language-text"><pre v-pre tabindex="0"><code>${md.utils.escapeHtml(tokens[i].content)}</code></pre></div>\n`;
    },
  },
  vite: {
    publicDir: false,
    build: { chunkSizeWarningLimit: 4096 }, // the index of the search is one chunk, which only a search loads
    resolve: { alias: { "#demo": join(root, "bin/site") } },
    // Pages are not below the modules. On the server all parts have to share one Vue.
    plugins: [{
      name: "vue-of-the-site",
      enforce: "pre",
      resolveId: (id, _, { ssr }) => (ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : null),
    }],
  },
  transformHead({ pageData }) {
    return [["link", { rel: "alternate", type: "text/markdown", href: base + pageData.filePath }]];
  },
  buildEnd({ outDir }) {
    const copy = (file) => {
      mkdirSync(dirname(join(outDir, file)), { recursive: true });
      copyFileSync(join(root, file), join(outDir, file));
    };
    for (const file of files) {
      copy(file);
      for (const [, image] of readFileSync(join(root, file), "utf8").matchAll(/!\[[^\]]*\]\(([^):]+)\)/g)) copy(posix.join(posix.dirname(file), image));
    }
    writeFileSync(join(outDir, "llms.txt"), index());
  },
});

// entry is a group of the sidebar. What belongs to the design and to the list of the decisions begins closed below them.
function entry({ text, files }) {
  const items = [], folders = new Map();
  for (const file of files) {
    const item = { text: summaryOf(file).title, link: "/" + urlOf(file) };
    const folder = file.startsWith("docs/decisions/") ? "docs/decisions/README.md" : file.endsWith("DESIGN.md") ? "docs/design.md" : "";
    if (!folder) {
      items.push(item);
      continue;
    }
    if (!folders.has(folder)) {
      folders.set(folder, { text: summaryOf(folder).title, link: "/" + urlOf(folder), collapsed: true, items: [] });
      items.push(folders.get(folder));
    }
    if (file !== folder) folders.get(folder).items.push(item);
  }
  return { text, items };
}

// slugify names anchors as the repository's host does, so that a link works in both places.
function slugify(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-");
}

// follow turns links to files that are no pages into links to the repository, and puts a demonstration where a comment
// asks for it. What does not exist is left as it is, and fails the build as a dead link.
function follow(state) {
  const here = posix.dirname(state.env.path ? posix.relative(root, state.env.path) : state.env.relativePath);
  const visit = (tokens) => {
    for (const [i, token] of tokens.entries()) {
      if (token.children) visit(token.children);
      if (token.type === "th_open" && tokens[i + 1].content === "") token.tag = tokens[i + 2].tag = "td"; // it heads nothing
      if (token.type === "html_block" && token.content.trim() === "<!-- demonstration: fencing -->") token.content = "<FencingDemo />\n";
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (!href || /^([a-z]+:|#|\/\/)/.test(href)) continue;
      const [path, anchor] = href.split("#");
      const file = posix.join(here, decodeURI(path)).replace(/\/$/, "");
      if (!existsSync(join(root, file))) continue;
      const folder = statSync(join(root, file)).isDirectory();
      const page = folder ? posix.join(file, "README.md") : file;
      if (pages.has(page)) token.attrSet("href", "/" + urlOf(page) + (anchor ? "#" + anchor : ""));
      else token.attrSet("href", `${repository}/${folder ? "tree" : "blob"}/main/${file}${anchor ? "#" + anchor : ""}`);
    }
  };
  visit(state.tokens);
}

// index is llms.txt: each page with its first sentence, and where its Markdown is.
function index() {
  const lines = [`# Holdfast ${version}`, "", "> A fenced lock service over NATS. Each page is Markdown at the address below."];
  for (const { text, files } of sidebar) {
    if (files.length === 0) continue;
    lines.push("", `## ${text}`, "");
    for (const file of files) {
      const { title, sentence } = summaryOf(file);
      lines.push(`- [${title}](${base}${file})${sentence ? ": " + sentence : ""}`);
    }
  }
  return lines.join("\n") + "\n";
}
