import { writeFile } from "node:fs/promises";
import { renderTree, toHtml } from "tool-call-extensions/inspect";
import { recordRun } from "./example-run.ts";

// Runs an agent and shows its run: in the terminal, or in the file that is named, as a page (.html) or as a picture of it (.png).

const [file] = process.argv.slice(2);
const events = await recordRun(file === undefined ? 10 : 120);
if (file === undefined) console.log(renderTree(events, { color: process.stdout.isTTY }));
else if (file.endsWith(".png")) await takePicture(toHtml(events), file);
else await writeFile(file, toHtml(events));
if (file !== undefined) console.log(`The run is in ${file}`);

async function takePicture(page: string, path: string): Promise<void> {
  const { chromium } = await import("playwright-core");
  await using browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const tab = await browser.newPage({ viewport: { width: 1200, height: 400 }, colorScheme: "light" });
  await tab.setContent(page);
  await tab.screenshot({ path, fullPage: true });
}
