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
  {
    text: "Start",
    items: [page("What settle is", "/"), page("Quickstart", "/docs/quickstart"), page("Install and update", "/docs/install"), page("Concepts", "/docs/concepts"), page("Comparison", "/docs/compare")],
  },
  {
    text: "Guides",
    items: [
      page("Terminal", "/docs/terminal"),
      page("Leave and return", "/docs/leave-and-return"),
      page("Scripts and batches", "/docs/scripts"),
      page("Evaluation and training", "/docs/evaluation"),
      page("CI", "/docs/ci"),
      page("Permissions", "/docs/permissions"),
      page("Reviewed approvals", "/docs/reviewed-approvals"),
      page("Questions of the agent", "/docs/questions"),
      page("Plans", "/docs/plans"),
      page("Sandbox", "/docs/sandbox"),
      page("Remote executor", "/docs/remote-executor"),
      page("MCP servers", "/docs/mcp-servers"),
      page("Plugins", "/docs/plugins"),
      page("Language servers", "/docs/language-servers"),
      page("Skills and instructions", "/docs/skills"),
      page("Hooks", "/docs/hooks"),
      page("Web", "/docs/web"),
      page("Child agents", "/docs/child-agents"),
      page("PDFs", "/docs/pdf"),
      page("Clouds", "/docs/clouds"),
      page("HTTP server", "/docs/server"),
      page("The page", "/docs/page"),
      page("Monitoring", "/docs/monitoring"),
      page("Performance", "/docs/performance"),
      page("Embedding", "/docs/embedding"),
      page("Fleet", "/docs/fleet"),
      page("Fleet: quickstart", "/docs/fleet-quickstart"),
      page("Fleet: workspaces", "/docs/fleet-workspaces"),
      page("Fleet: operations", "/docs/fleet-operations"),
      page("Fleet: evaluations and rollouts", "/docs/fleet-rollouts"),
      page("Fleet: backup and upgrades", "/docs/fleet-upgrades"),
      page("Fleet: web page", "/docs/fleet-page"),
      page("Fleet: failures", "/docs/fleet-failures"),
      page("Fleet: Temporal", "/docs/fleet-temporal"),
    ],
  },
  {
    text: "Compatibility",
    items: [
      page("Overview", "/docs/clients/"),
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
      page("Command line", "/docs/reference/cli"),
      page("Fleet command line", "/docs/reference/fleet-cli"),
      page("Settings", "/docs/reference/settings"),
      page("System prompt", "/docs/reference/prompt"),
      page("Rules", "/docs/reference/rules"),
      page("Sandbox", "/docs/reference/sandbox"),
      page("Terminal", "/docs/reference/terminal"),
      page("HTTP API", "/docs/reference/http-api"),
      page("MCP servers", "/docs/reference/mcp-servers"),
      page("Events", "/docs/reference/events"),
      page("Metrics", "/docs/reference/metrics"),
      page("OpenTelemetry", "/docs/reference/opentelemetry"),
      page("Scenarios", "/docs/reference/scenarios"),
      page("Executor protocol", "/docs/reference/executor-protocol"),
      page("Proof tables", "/docs/reference/proof"),
      page("Glossary", "/docs/reference/glossary"),
    ],
  },
  {
    text: "Guarantees",
    items: [page("Contract", "/docs/contract"), page("Process tracking", "/docs/processes"), page("Security model", "/docs/security")],
  },
  {
    text: "Contributors",
    items: [
      page("Contributing", "/CONTRIBUTING"),
      page("Design", "/docs/design"),
      page("Proof", "/docs/proof"),
      page("Edits", "/docs/edits"),
      page("Tokens", "/docs/tokens"),
      page("Releases", "/docs/release"),
      page("Decisions", "/docs/adr/0000-how-we-decide"),
      page("Changes", "/CHANGELOG"),
      page("Reporting security problems", "/SECURITY"),
    ],
  },
];

// Links to what is no page lead to the repository, so that they work on the site as
// they do there.
function repositoryLinks(md) {
  md.core.ruler.push("repository-links", (state) => {
    const dir = dirname(join(root, state.env.relativePath ?? ""));
    for (const token of state.tokens.flatMap((t) => t.children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (!href || /^([a-z]+:|#|\/)/.test(href)) continue;
      if (/(^|\/)clients\/README\.md(#|$)/.test(href)) { // the page of a folder
        token.attrSet("href", href.replace("README.md", "index.html"));
        continue;
      }
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
