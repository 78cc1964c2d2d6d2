// Is dist/index.html built from the sources beside it? Needs node alone: no packages, no network.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL(".", import.meta.url));
const inputs = ["src", "index.html", "package-lock.json", "tsconfig.json", "vite.config.ts"];
const sizeLimit = 1.2e6;

function filesUnder(path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => filesUnder(join(path, name)));
}

/** SHA-256 over names and contents of everything the page is built from; line ends do not count. */
export function sourcesHash() {
  const hash = createHash("sha256");
  const files = inputs.flatMap(filesUnder).map((path) => path.split(sep).join("/"));
  for (const path of files.sort()) {
    const text = readFileSync(join(root, path), "utf8").replaceAll("\r\n", "\n");
    hash.update(`${path}\n${Buffer.byteLength(text)}\n`).update(text);
  }
  return hash.digest("hex");
}

/** What is wrong with the built page, as sentences; none if it is fresh. */
export function problems() {
  let page;
  try {
    page = readFileSync(join(root, "dist/index.html"), "utf8");
  } catch {
    return ["dist/index.html is missing; run `npm ci && npm run build`"];
  }
  const found = [];
  const built = /<meta name="carom-sources" content="([0-9a-f]{64})">/.exec(page)?.[1];
  if (built !== sourcesHash()) {
    found.push("dist/index.html is older than its sources; run `npm ci && npm run build` and commit it");
  }
  if (!/^<!--carom-data-->\s*<\/head>/m.test(page) || page.split("<!--carom-data-->").length !== 2) {
    found.push("dist/index.html must hold the mark for exported data exactly once, right before </head>");
  }
  if (!page.includes("three.js authors")) found.push("dist/index.html has lost the licence of three.js");
  if (/<(script|link|img)[^>]+(src|href)="(?!data:)/.test(page)) found.push("dist/index.html refers to another file");
  if (Buffer.byteLength(page) > sizeLimit) found.push(`dist/index.html is larger than ${sizeLimit} bytes`);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = problems();
  for (const problem of found) console.error(`error: ${problem}`);
  if (found.length === 0) console.log("dist/index.html is fresh");
  process.exitCode = found.length === 0 ? 0 : 1;
}
