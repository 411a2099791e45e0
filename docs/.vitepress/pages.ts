import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../../", import.meta.url));
/** Everything that is made, so that nothing made stands beside what is written by hand. */
export const made: string = `${root}.site/`;

/**
 * Writes the site's pages: the markdown of docs/, and whatever it links to elsewhere in the repository. In the repository the
 * links are relative to the file, as code hosts and editors follow them; here they become addresses of the site.
 */
export function writePages(): void {
  const waiting = markdownOf("docs");
  const seen = new Set(waiting);
  for (const path of waiting) {
    const linked = (link: string): string => {
      const target = existsSync(`${root}${link}/README.md`) ? `${link}/README.md` : link;
      if (!existsSync(root + target)) throw new Error(`${path} links to ${target}, which is not in the repository`);
      if (!seen.has(target)) waiting.push(target);
      seen.add(target);
      return addressOf(target);
    };
    const file = `${made}pages/${pageOf(path)}`;
    mkdirSync(dirname(file), { recursive: true });
    if (isPicture(path)) copyFileSync(root + path, file);
    else writeFileSync(file, contentOf(path, linked));
  }
}

/** Markdown as it is, but for its links; a folder as a list of its files; any other file as a block of code. */
function contentOf(path: string, linked: (target: string) => string): string {
  if (statSync(root + path).isDirectory()) {
    const items = filesOf(path).map((file) => `- [${titleOf(file)}](${linked(file)})`);
    return `# ${posix.basename(path)}\n\n${items.join("\n")}\n`;
  }
  const text = readFileSync(root + path, "utf8");
  if (!path.endsWith(".md")) {
    const language = posix.extname(path).slice(1);
    return `---\nsearch: false\naside: false\n---\n\n# ${path}\n\n\`\`\`\`${language}\n${text}\n\`\`\`\`\n`;
  }
  const link = /\]\((?![\w+.-]+:)([^)#\s]+)(#[^)\s]*)?\)/g;
  const withLinks = (prose: string): string =>
    prose.replaceAll(link, (_whole, target: string, hash = "") => {
      return `](${linked(posix.join(posix.dirname(path), target).replace(/\/$/, ""))}${hash})`;
    });
  // A block of code may hold what looks like a link.
  const parts = text.split(/(^```[\s\S]*?^```$)/m);
  return parts.map((part) => (part.startsWith("```") ? part : withLinks(part))).join("");
}

function isPicture(path: string): boolean {
  return path.endsWith(".png");
}

/** The page's file: what is in docs/ is at the site's root, and the README of a folder is its index. */
function pageOf(path: string): string {
  const place = path.replace(/^docs\//, "");
  if (isPicture(path)) return `public/${place}`;
  if (place.endsWith(".md")) return place.replace(/\/README\.md$/, "/index.md");
  return statSync(root + path).isDirectory() ? `${place}/index.md` : `source/${place}.md`;
}

export function addressOf(path: string): string {
  return `/${pageOf(path).replace(/(?<=^|\/)index\.md$|\.md$|^public\//, "")}`;
}

export function titleOf(path: string): string {
  const heading = path.endsWith(".md") ? /^# (.+)$/m.exec(readFileSync(root + path, "utf8"))?.[1] : undefined;
  return heading ?? posix.basename(path);
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(root + folder, { recursive: true, encoding: "utf8" })
    .map((file) => `${folder}/${file}`)
    .filter((file) => !file.includes("node_modules/") && statSync(root + file).isFile());
}

/** The pages of a folder: those of the names that are given first, in that order. */
export function markdownOf(folder: string, first: readonly string[] = []): string[] {
  const rank = (file: string): number => {
    const place = first.indexOf(posix.basename(file, ".md"));
    return place < 0 ? first.length : place;
  };
  return filesOf(folder)
    .filter((file) => file.endsWith(".md"))
    .sort((one, other) => rank(one) - rank(other) || one.localeCompare(other));
}
