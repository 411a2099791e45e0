import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { toHtml } from "tool-call-extensions/inspect";
import { recordRun } from "./example-run.ts";

// `npm run picture`: runs the example and takes the picture of it that the documentation shows.

const path = fileURLToPath(new URL("../../assets/run-view.png", import.meta.url));
const page = toHtml(await recordRun(120));
await using browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const tab = await browser.newPage({ viewport: { width: 1200, height: 400 }, colorScheme: "light" });
await tab.setContent(page);
await tab.screenshot({ path, fullPage: true });
console.log(`The picture of the run is in ${path}`);
