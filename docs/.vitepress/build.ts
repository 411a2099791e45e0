import { rmSync } from "node:fs";
import { build } from "vitepress";
import { checkLinks } from "./check-links.ts";
import { made, root, writePages } from "./pages.ts";
import { writeReference } from "./reference.ts";

rmSync(made, { recursive: true, force: true });
writePages();
await writeReference();
await build(`${root}docs`);
const { pages, links, broken } = checkLinks(`${made}html`);
for (const link of broken) console.error(`broken: ${link}`);
console.log(`${pages} pages, ${links} links, ${broken.length} broken`);
if (pages === 0 || links === 0 || broken.length > 0) process.exitCode = 1;
