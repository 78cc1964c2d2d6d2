// Headless Chromium with software WebGL, and measures of pictures.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { PNG } from "pngjs";

const FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

/** Software WebGL on a busy machine needs its time (ms). */
const PATIENCE = 120_000;

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

/** A page in its own context; `problems` collects what the console complains about, `requests` all addresses asked for. */
export async function openPage(browser, address, { width = 800, height = 500, dark = false, reducedMotion = false, touch = false } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: reducedMotion ? "reduce" : "no-preference",
    hasTouch: touch,
  });
  context.setDefaultTimeout(PATIENCE);
  context.setDefaultNavigationTimeout(PATIENCE);
  const page = await context.newPage();
  const problems = [];
  const requests = [];
  page.on("console", (message) => {
    // Software WebGL warns that reading pixels is slow; that is the test's doing.
    if (message.type() === "error" || (message.type() === "warning" && !/GPU stall|GL Driver Message/.test(message.text()))) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  page.on("websocket", (socket) => requests.push(socket.url()));
  await page.goto(address);
  return { page, problems, requests, close: () => context.close() };
}

export function ready(page) {
  return page.waitForFunction(() => window.__carom?.ready, undefined, { timeout: PATIENCE });
}

export const hook = (page, field) => page.evaluate((name) => window.__carom[name], field);
export const poses = (page) => page.evaluate(() => Array.from(window.__carom.poses()));

/** Waits until a check is met, as long as a slow machine may need. */
export async function until(what, check) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`waited in vain until ${what}`);
}

/** Waits until a number or list of numbers is the same as a while ago. */
export async function rest(what, value, tolerance = 0, pause = 500) {
  let last = [await value()].flat();
  await until(`${what} rests`, async () => {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const before = last;
    last = [await value()].flat();
    return distance(before, last) <= tolerance;
  });
}

/** Waits until what was changed is drawn. */
export function drawn(page) {
  return page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50)))));
}

/** Largest difference of two lists. */
export function distance(a, b) {
  if (a.length !== b.length) return Infinity;
  return a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
}

/** A picture made smaller by averaging, as rows of red, green and blue. */
export function shrink(png, width = 64, height = 48) {
  const picture = PNG.sync.read(png);
  const out = new Float64Array(width * height * 3);
  const counts = new Float64Array(width * height);
  for (let y = 0; y < picture.height; y++) {
    for (let x = 0; x < picture.width; x++) {
      const cell = Math.floor((y * height) / picture.height) * width + Math.floor((x * width) / picture.width);
      counts[cell]++;
      for (let k = 0; k < 3; k++) out[3 * cell + k] += picture.data[4 * (y * picture.width + x) + k];
    }
  }
  return out.map((sum, i) => sum / counts[Math.floor(i / 3)]);
}

export function smallPng(pixels, width = 64, height = 48) {
  const picture = new PNG({ width, height });
  for (let i = 0; i < width * height; i++) {
    for (let k = 0; k < 3; k++) picture.data[4 * i + k] = Math.round(pixels[3 * i + k]);
    picture.data[4 * i + 3] = 255;
  }
  return PNG.sync.write(picture);
}

/** Mean difference of colours (0 to 255), over all cells, and over the worst twentieth of them. */
export function colourDifference(a, b) {
  const cells = Array.from({ length: a.length / 3 }, (_, i) => [0, 1, 2].reduce((sum, k) => sum + Math.abs(a[3 * i + k] - b[3 * i + k]) / 3, 0));
  cells.sort((x, y) => y - x);
  const worst = cells.slice(0, Math.ceil(cells.length / 20));
  const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
  return { mean: mean(cells), worst: mean(worst) };
}

/** Standard deviation of brightness, and the share of cells that differ from the sky (the mean of the top row) by more than a hair. */
export function liveliness(pixels, width = 64) {
  const cells = pixels.length / 3;
  const brightness = Array.from({ length: cells }, (_, i) => (pixels[3 * i] + pixels[3 * i + 1] + pixels[3 * i + 2]) / 3);
  const mean = brightness.reduce((sum, x) => sum + x, 0) / cells;
  const deviation = Math.sqrt(brightness.reduce((sum, x) => sum + (x - mean) ** 2, 0) / cells);
  const sky = brightness.slice(0, width).reduce((sum, x) => sum + x, 0) / width;
  return { deviation, share: brightness.filter((x) => Math.abs(x - sky) > 12).length / cells };
}
