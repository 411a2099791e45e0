import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkLinks } from "../../docs/.vitepress/check-links.ts";

/** A built site of these files; `href` is what its index links to. */
function siteWith(href: string): string {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = {
    "index.html": `<h1 id="top">Home</h1><a class="x" href="${href}">there</a>`,
    "guides/tokens.html": '<h2 id="an-id">Tokens</h2><a href="../index.html#top">home</a>',
    "guides/index.html": "<h1>Guides</h1>",
    "assets/style.css": "",
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

test.each([
  "/guides/tokens",
  "/guides/tokens.html#an-id",
  "guides/tokens#an-id",
  "/guides/",
  "#top",
  "/assets/style.css?v=1",
])("follows %s", (href) => {
  expect(checkLinks(siteWith(href))).toEqual({ pages: 3, links: 2, broken: [] });
});

test.each(["/guides/tools", "/guides/tokens#another-id", "tokens.html", "#bottom", "/assets/"])(
  "finds that %s leads nowhere",
  (href) => {
    expect(checkLinks(siteWith(href)).broken).toEqual([`index.html: ${href}`]);
  },
);

test("leaves links to other sites alone, and what only looks like markup in a script", () => {
  expect(checkLinks(siteWith("https://example.com/none")).links).toBe(1);
  expect(
    checkLinks(siteWith('#top"></a><script>const a = \'<a href="/none">\';</script><a href="#top')).broken,
  ).toEqual([]);
});
