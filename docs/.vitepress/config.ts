import { existsSync, readFileSync } from "node:fs";
import { type DefaultTheme, defineConfig, type UserConfig } from "vitepress";
import { addressOf, made, markdownOf, root, titleOf } from "./pages.ts";

type Item = DefaultTheme.SidebarItem;

const item = (path: string, text: string = titleOf(path)): Item => ({ text, link: addressOf(path) });

const GUIDES = ["tokens", "tools", "runs", "sub-agents", "pausing", "privacy", "testing", "mcp", "ai-sdk"];
/** Guides that stand elsewhere in the sidebar. */
const APART = ["moving", "troubleshooting", "comparison"];

const guides = markdownOf("docs/guides", GUIDES).filter((path) => !APART.some((name) => path.endsWith(`/${name}.md`)));
const examples = existsSync(`${root}docs/examples/README.md`) ? [item("docs/examples/README.md", "Examples")] : [];
const reference = `${made}pages/api/typedoc-sidebar.json`;

const sidebar: Item[] = [
  {
    text: "Start",
    items: [
      item("docs/index.md", "The first minutes"),
      item("docs/concepts.md"),
      item("docs/guides/moving.md", "Moving here"),
      item("docs/guides/comparison.md", "Comparison"),
      ...examples,
    ],
  },
  { text: "Guides", items: [...guides.map((path) => item(path)), item("docs/idempotency.md")] },
  {
    text: "When something fails",
    items: [item("docs/guides/troubleshooting.md", "Troubleshooting")],
  },
  {
    text: "What is promised",
    items: [
      item("docs/promises.md", "Promises"),
      item("SECURITY.md"),
      { text: "Decisions", collapsed: true, items: markdownOf("docs/decisions").map((path) => item(path)) },
    ],
  },
];

/** The anchors that code hosts give to headings, so that one link works in both places. */
const slugify = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");

const config: UserConfig<DefaultTheme.Config> = defineConfig({
  title: "tool-call-extensions",
  description: "Typed, private, per-call values for the tools of a TypeScript agent",
  head: [
    ["link", { rel: "icon", href: "data:," }],
    ["style", {}, readFileSync(`${root}docs/.vitepress/style.css`, "utf8")],
  ],
  srcDir: "../.site/pages",
  outDir: "../.site/html",
  cacheDir: "../.site/cache",
  ignoreDeadLinks: false,
  markdown: { anchor: { slugify } },
  themeConfig: {
    nav: [
      { text: "Guides", link: addressOf("docs/concepts.md") },
      { text: "Troubleshooting", link: addressOf("docs/guides/troubleshooting.md") },
      { text: "API", link: "/api/" },
    ],
    sidebar: { "/": sidebar, "/api/": existsSync(reference) ? JSON.parse(readFileSync(reference, "utf8")) : [] },
    outline: { level: [2, 3] },
    // Guides before the reference, where both have the word.
    search: {
      provider: "local",
      options: {
        miniSearch: { searchOptions: { boostDocument: (id: string) => (id.startsWith("/api/") ? 0.4 : 1) } },
      },
    },
  },
});

export default config;
