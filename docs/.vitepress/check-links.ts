import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** What {@link checkLinks} counted, and each link that leads nowhere. */
export interface LinkReport {
  readonly pages: number;
  readonly links: number;
  readonly broken: readonly string[];
}

/** Follows every link of a built site to a file of it, and every `#anchor` to an id there. Links to other sites are left alone. */
export function checkLinks(folder: string): LinkReport {
  const pages = new Map(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".html"))
      .map((file) => [join(folder, file), readFileSync(join(folder, file), "utf8")]),
  );
  const ids = new Map([...pages].map(([file, html]) => [file, new Set(attributes(html, "id"))]));
  let links = 0;
  const broken: string[] = [];
  for (const [file, html] of pages) {
    for (const href of [...attributes(html, "href"), ...attributes(html, "src")]) {
      if (/^[\w+.-]+:/.test(href)) continue;
      links++;
      const [path = "", hash = ""] = href.split("#");
      const target = path === "" ? file : fileOf(folder, file, path.replace(/\?.*$/, ""));
      const hasAnchor = hash === "" || ids.get(target)?.has(decodeURIComponent(hash)) === true;
      if (!existsSync(target) || !hasAnchor) broken.push(`${relative(folder, file)}: ${href}`);
    }
  }
  return { pages: pages.size, links, broken: [...new Set(broken)] };
}

function attributes(html: string, name: string): readonly string[] {
  // What is inside a script is no markup.
  const markup = html.replaceAll(
    /<script\b[^>]*>[\s\S]*?<\/script>/g,
    (script) => /^<script[^>]*>/.exec(script)?.[0] ?? "",
  );
  return [...markup.matchAll(new RegExp(`<[a-z][^<>]*? ${name}="([^"]*)"`, "g"))].map(([, value = ""]) =>
    unescaped(value),
  );
}

function unescaped(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** The file that a static server sends for a path: itself, with .html, or a folder's index. */
function fileOf(folder: string, from: string, path: string): string {
  const target = path.startsWith("/") ? join(folder, decodeURI(path)) : join(from, "..", decodeURI(path));
  if (existsSync(target)) return statSync(target).isDirectory() ? join(target, "index.html") : target;
  return `${target}.html`;
}
