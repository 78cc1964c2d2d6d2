// The page against the real command: CAROM_BIN names a built `carom`. Every shipped model is shown live and as an export.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { colourDifference, distance, drawn, hook, launch, liveliness, openPage, poses, ready, rest, shrink, smallPng, until } from "./browser.mjs";
import { posesOf } from "./fake-model.mjs";

const carom = process.env.CAROM_BIN;
const models = fileURLToPath(new URL("../../../../models/", import.meta.url));
const references = fileURLToPath(new URL("references/models/", import.meta.url));
const names = readdirSync(models).filter((name) => name.endsWith(".xml"));
if (!carom) console.log("CAROM_BIN is not set: the page was not tested against the real command");

let browser;
let folder;
const running = new Set();

before(async () => {
  if (!carom) return;
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "carom-real-"));
});

after(async () => {
  // A test that failed has not stopped its server; it would keep the tests from ending.
  for (const child of running) child.kill();
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** Starts `carom view` and gives its address. */
async function view(model) {
  const child = spawn(carom, ["view", join(models, model), "--no-browser", "--json"], { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  child.on("close", () => running.delete(child));
  let text = "";
  const address = await new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`carom view ended with ${code}`)));
    child.stdout.on("data", (data) => {
      text += data;
      const found = /http:\/\/[^\s"]+/.exec(text);
      if (found) resolve(found[0]);
    });
  });
  return { address, stop: () => new Promise((resolve) => (child.removeAllListeners("exit"), child.on("exit", resolve), child.kill())) };
}

/** Opens a page and keeps the frames that the server sends it, and what it says to the server. */
async function openLive(address) {
  const frames = new Map();
  const said = [];
  const opened = await openPage(browser, "about:blank");
  opened.page.on("websocket", (socket) => {
    socket.on("framesent", ({ payload }) => said.push(JSON.parse(payload)));
    socket.on("framereceived", ({ payload }) => {
      if (typeof payload === "string" || payload.readUInt32LE(0) !== 0x31465243) return;
      frames.set(payload.readUInt32LE(4), payload);
      if (frames.size > 600) frames.delete(frames.keys().next().value);
    });
  });
  await opened.page.goto(address);
  await ready(opened.page);
  return { ...opened, tab: opened.page, frames, said };
}

/** Pauses; then the last frame sent is the one shown. */
async function pause(tab, frames) {
  if (!(await hook(tab, "paused"))) await tab.keyboard.press("Space");
  await until("it pauses", () => hook(tab, "paused"));
  await until("the last frame is shown", async () => (await hook(tab, "frame")) === Math.max(...frames.keys()));
  await drawn(tab);
}

function recordingIn(html) {
  const bytes = Buffer.from(/id="carom-recording"[^>]*>([^<]*)</.exec(html)[1], "base64");
  const frames = [];
  for (let at = 12 + 4 * Math.ceil(bytes.readUInt32LE(8) / 4); at < bytes.length; at += 4 + bytes.readUInt32LE(at)) {
    frames.push(bytes.subarray(at + 4, at + 4 + bytes.readUInt32LE(at)));
  }
  return frames;
}

for (const name of carom ? names : []) {
  test(`${name} runs in the page`, async () => {
    const { address, stop } = await view(name);
    const { tab, frames, problems, close } = await openLive(address);
    const shown = await hook(tab, "framesShown");
    await until("frames advance", async () => (await hook(tab, "framesShown")) > shown + 3);
    await pause(tab, frames);
    const [frame, places] = await tab.evaluate(() => [window.__carom.frame, Array.from(window.__carom.poses())]);
    // What the page was sent is told to the page first, and to the tests then.
    await until("the frame that is shown is known", () => frames.has(frame));
    assert.ok(distance(places, posesOf(frames.get(frame))) < 1e-5);
    assert.equal(await hook(tab, "error"), null);
    const { deviation, share } = liveliness(shrink(await tab.screenshot()));
    assert.ok(deviation > 6 && share > 0.04, `blank: ${deviation}, ${share}`);

    const slider = tab.locator("#panel-controls input[type=range]").first();
    if ((await slider.count()) > 0) {
      const before = frames.get(frame);
      const nq = before.readUInt32LE(44);
      const nu = before.readUInt32LE(48);
      const sensors = before.readUInt32LE(52);
      const gradient = before.readUInt32LE(56) & 1 ? 12 * before.readUInt32LE(32) : 0;
      const control = (bytes) => bytes.readFloatLE(bytes.length - gradient - 4 * (sensors + nu));
      assert.ok(nq > 0);
      const box = await slider.boundingBox();
      await tab.mouse.click(box.x + 0.9 * box.width, box.y + box.height / 2);
      await tab.keyboard.press("ArrowRight");
      await until("the control is the server's", () => control(frames.get(Math.max(...frames.keys()))) !== control(before));
    }
    assert.deepEqual(problems, []);
    await close();
    await stop();
  });

  test(`${name} is exported as a page that shows it offline`, async () => {
    const file = join(folder, name.replace(".xml", ".html"));
    execFileSync(carom, ["view", join(models, name), "--export", file, "--seconds", "0.5"], { stdio: ["ignore", "ignore", "inherit"] });
    const address = pathToFileURL(file).href;
    const { page: tab, problems, requests, close } = await openPage(browser, address, { reducedMotion: true });
    await ready(tab);
    const frames = recordingIn(readFileSync(file, "utf8"));
    assert.ok(frames.length > 5);
    for (const frame of [frames.at(-1), frames[frames.length >> 1], frames[0]]) {
      await tab.evaluate((time) => window.__carom.setTime(time), frame.readDoubleLE(8));
      await drawn(tab);
      assert.ok(distance(await poses(tab), posesOf(frame)) < 1e-5);
    }
    compare(name.replace(".xml", ""), await tab.screenshot());
    assert.deepEqual(requests.filter((url) => url !== address && !/^(data|blob):/.test(url)), []);
    assert.deepEqual(problems, []);
    await close();
  });
}

function compare(name, png) {
  const pixels = shrink(png);
  const { deviation, share } = liveliness(pixels);
  assert.ok(deviation > 6 && share > 0.04, `${name} is blank: ${deviation}, ${share}`);
  const path = join(references, `${name}.png`);
  if (process.env.CAROM_UPDATE_PICTURES === "1") writeFileSync(path, smallPng(pixels));
  assert.ok(existsSync(path), `${path} is missing; CAROM_UPDATE_PICTURES=1 makes it`);
  const difference = colourDifference(pixels, shrink(readFileSync(path)));
  assert.ok(difference.mean < 3 && difference.worst < 24, `${name} looks different: ${JSON.stringify(difference)}`);
}

/** Where a point of a body is in the world; poses are x y z, qw qx qy qz. */
function worldPoint(places, body, [x, y, z]) {
  const [px, py, pz, w, a, b, c] = places.slice(7 * body, 7 * body + 7);
  // v + 2·q×(q×v + w·v), with q the vector part.
  const [tx, ty, tz] = [b * z - c * y + w * x, c * x - a * z + w * y, a * y - b * x + w * z];
  return [px + x + 2 * (b * tz - c * ty), py + y + 2 * (c * tx - a * tz), pz + z + 2 * (a * ty - b * tx)];
}

if (carom) {
  test("the mouse pulls the cube off the floor", async () => {
    const { address, stop } = await view("cube.xml");
    const { tab, frames, problems, said, close } = await openLive(address);
    const place = async () => (await poses(tab)).slice(7, 14);
    const pull = async (x, y, to) => {
      await tab.keyboard.down("Control");
      await tab.mouse.move(x, y);
      await tab.mouse.down();
      assert.equal(await hook(tab, "selected"), 1);
      await tab.mouse.move(...to, { steps: 6 });
    };
    const letGo = async () => {
      await tab.mouse.up();
      await tab.keyboard.up("Control");
    };
    // A page that is quick enough to show the start, with the cube in the air, still shows it on the floor, free of panels.
    await pause(tab, frames);
    await tab.keyboard.press("r");
    await until("it is at the start", async () => (await hook(tab, "time")) === 0);
    await tab.reload();
    await ready(tab);
    assert.ok(Math.abs((await place())[2] - 0.3) < 1e-6);
    await tab.keyboard.press("Space");
    await until("the cube is on the floor", async () => (await place())[2] < 0.051);
    await rest("the cube", place, 1e-5);
    const floor = await place();
    const [x, y] = await tab.evaluate(() => window.__carom.screenPosition(1));
    assert.equal(await tab.evaluate((at) => document.elementFromPoint(...at)?.tagName, [x, y]), "CANVAS", `the cube is seen at ${[x, y]}`);

    await pull(x, y, [x + 40, y - 230]);
    await until("the cube rises", async () => (await place())[2] > floor[2] + 0.02);
    // It swings about the point that is held, which hangs below the hand: by g/ω² times its mass over the mass that is felt
    // there, 3/tr(W) = m/(1 + 4·r²/a²) for a cube with sides a, held at a distance r from its centre.
    await rest("the hand", () => said.length - said.filter((message) => message.type === "shown").length);
    const { point, target } = said.findLast((message) => message.type === "drag");
    const sag = (9.81 / 25 ** 2) * (1 + (4 * Math.hypot(...point) ** 2) / 0.1 ** 2);
    const hanging = [target[0], target[1], target[2] - sag];
    await until("the held point is at the hand", async () => distance(worldPoint(await poses(tab), 1, point), hanging) < 4e-3);
    assert.ok((await place())[2] > floor[2] + 0.02, "it hangs in the air");

    await letGo();
    await until("it falls again", async () => (await place())[2] < 0.051);

    // While time stands still it goes to the hand, as it is.
    await tab.keyboard.press("Escape"); // The card about the cube may be before it.
    await rest("the cube", place, 1e-5);
    await pause(tab, frames);
    const [time, lying] = [await hook(tab, "time"), await place()];
    const from = await tab.evaluate(() => window.__carom.screenPosition(1));
    await pull(...from, [from[0] + 10, from[1] - 80]);
    await until("the cube is lifted", async () => (await place())[2] > lying[2] + 0.02);
    assert.ok(distance((await place()).slice(3), lying.slice(3)) < 1e-6, "it is not turned");
    await letGo();
    assert.equal(await hook(tab, "time"), time);
    assert.equal(await hook(tab, "error"), null);
    assert.deepEqual(problems, []);
    await close();
    await stop();
  });

  test("a joint's slider moves the pendulum", async () => {
    const { address, stop } = await view("pendulum.xml");
    const { tab, frames, close } = await openLive(address);
    await pause(tab, frames);
    await tab.click("#tab-joints");
    const before = await poses(tab);
    const box = await tab.locator("#panel-joints input[type=range]").first().boundingBox();
    await tab.mouse.click(box.x + 0.85 * box.width, box.y + box.height / 2);
    await until("it moves", async () => distance(before, await poses(tab)) > 0.1);
    await tab.keyboard.press("r");
    await until("it is reset", async () => (await hook(tab, "time")) === 0);
    await close();
    await stop();
  });
}
