import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";
import { sourcesHash } from "./check-fresh.mjs";

const MARK = "<!--carom-data-->";

/** Writes the hash of the sources and the licence of three.js into the finished page, and puts the mark for data at the end of its head. */
function finish(): Plugin {
  return {
    name: "carom-finish",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("the build made no index.html");
      const html = String(page.source).replace(`${MARK}\n`, "");
      const end = html.lastIndexOf("</head>");
      const licence = readFileSync(new URL("node_modules/three/LICENSE", import.meta.url), "utf8").trim();
      const notice = `<!--\nThis page contains three.js, under this licence:\n\n${licence}\n-->`;
      const meta = `<meta name="carom-sources" content="${sourcesHash()}">`;
      page.source = `${html.slice(0, end).trimEnd()}\n${meta}\n${notice}\n${MARK}\n${html.slice(end)}`;
    },
  };
}

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), finish()],
  build: { target: "es2022", modulePreload: false, chunkSizeWarningLimit: 1300 },
  test: { include: ["tests/unit/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
