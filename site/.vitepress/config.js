// The site is made of the pages of this repository as they are: README.md, docs/ and what
// stands beside README.md. make site builds it.
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
// The packages; a test has them elsewhere.
const modules = process.env.SITE_MODULES ?? fileURLToPath(new URL("../node_modules", import.meta.url));
const source = "https://github.com/settle-agent/settle";

const page = (text, link) => ({ text, link });
const sidebar = [
  { text: "Start", items: [page("What settle is", "/"), page("Install", "/docs/release"), page("The terminal", "/docs/terminal"), page("What it costs", "/docs/tokens")] },
  {
    text: "Guides",
    items: [
      page("Skills, commands, instructions", "/docs/skills"),
      page("MCP servers", "/docs/mcp-servers"),
      page("Hooks", "/docs/hooks"),
      page("The web", "/docs/web"),
      page("The sandbox", "/docs/sandbox"),
      page("CI", "/docs/ci"),
      page("A thousand runs", "/docs/scripts"),
      page("Hands on other machines", "/docs/remote-executor"),
      page("The fleet", "/docs/fleet"),
      page("What to watch", "/docs/reference/metrics"),
      page("OpenTelemetry", "/docs/reference/opentelemetry"),
      page("Embed it in a Go program", "/docs/embedding"),
      page("Test with a model that misbehaves", "/docs/reference/scenarios"),
    ],
  },
  {
    text: "Editors and other programs",
    items: [
      page("Which to start", "/docs/clients/"),
      page("ACP: editors", "/docs/clients/acp"),
      page("Codex SDK", "/docs/clients/codex-sdk"),
      page("Codex app-server", "/docs/clients/codex-app-server"),
      page("Codex exec-server", "/docs/clients/codex-exec-server"),
      page("Claude Agent SDK", "/docs/clients/claude-sdk"),
      page("MCP", "/docs/clients/mcp"),
    ],
  },
  {
    text: "Reference",
    items: [
      page("Commands, flags, exit codes", "/docs/reference/cli"),
      page("Settings", "/docs/reference/settings"),
      page("HTTP server", "/docs/server"),
      page("Events", "/docs/reference/events"),
    ],
  },
  {
    text: "The contract",
    items: [
      page("What is guaranteed", "/docs/contract"),
      page("How it is proved", "/docs/proof"),
      page("How processes are tracked", "/docs/processes"),
      page("Security model", "/docs/security"),
      page("How edits are scored", "/docs/edits"),
    ],
  },
  { text: "The project", items: [page("Changes", "/CHANGELOG"), page("Security", "/SECURITY"), page("Contributing", "/CONTRIBUTING"), page("Decisions", "/docs/adr/0000-how-we-decide")] },
];

// Links to what is no page lead to the repository, so that they work on the site as
// they do there.
function repositoryLinks(md) {
  md.core.ruler.push("repository-links", (state) => {
    const dir = dirname(join(root, state.env.relativePath ?? ""));
    for (const token of state.tokens.flatMap((t) => t.children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (!href || /^([a-z]+:|#|\/)/.test(href)) continue;
      const path = join(dir, decodeURI(href.split("#")[0]));
      if (!existsSync(path) || path.endsWith(".md") || (relative(root, path).startsWith("docs/") && existsSync(join(path, "README.md")))) continue;
      token.attrSet("href", `${source}/${statSync(path).isDirectory() ? "tree" : "blob"}/main/${relative(root, path)}`);
    }
  });
}

// Headings have the anchors that they have in the repository, so that links to them work
// in both places.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");

export default {
  title: "settle",
  description: "A coding agent and agent runtime: everything that starts, ends",
  srcDir: "..",
  srcExclude: readdirSync(root).filter((name) => name !== "docs" && statSync(join(root, name)).isDirectory()).map((name) => `${name}/**`),
  outDir: process.env.SITE_OUT ?? fileURLToPath(new URL("../dist", import.meta.url)),
  rewrites: { "README.md": "index.md", "docs/clients/README.md": "docs/clients/index.md" },
  cleanUrls: false,
  lastUpdated: false,
  markdown: { html: false, anchor: { slugify }, config: (md) => md.use(repositoryLinks) },
  // The pages are not below this folder, where the packages are.
  vite: { resolve: { alias: [{ find: /^vue(\/.*)?$/, replacement: join(modules, "vue") + "$1" }] } },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: source }],
    footer: { message: "Apache-2.0" },
  },
};
