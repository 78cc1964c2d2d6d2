// Exported pages, opened from disk: right, beautiful and silent.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { colourDifference, distance, drawn, hook, launch, liveliness, openPage, poses, ready, rest, shrink, smallPng, until } from "./browser.mjs";
import { encodeFrame, encodeRecording, exportPage, fakeFrame, fakeRecording, fakeScene, posesOf } from "./fake-model.mjs";

const page = readFileSync(new URL("../dist/index.html", import.meta.url), "utf8");
const references = fileURLToPath(new URL("references/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "carom-page-"));
const scene = fakeScene();
const run = { name: "simulated", bytes: fakeRecording(scene, "simulated") };
const other = { name: "measured", bytes: fakeRecording(scene, "measured", 0.3) };
let browser;

function write(name, recordings, model = scene) {
  const path = join(folder, name);
  writeFileSync(path, exportPage(page, model, recordings));
  return pathToFileURL(path).href;
}

async function open(address, options) {
  const opened = await openPage(browser, address, options);
  await ready(opened.page);
  return opened;
}

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

test("an export shows the poses of its frames, asks the network for nothing and complains about nothing", async () => {
  const address = write("run.html", [run]);
  const { page: tab, problems, requests, close } = await open(address);
  for (const index of [0, 30, 77, 150]) {
    await tab.evaluate((time) => window.__carom.setTime(time), index * 0.04);
    await tab.waitForFunction((frame) => window.__carom.frame === frame, index);
    await drawn(tab);
    assert.ok(distance(await poses(tab), posesOf(fakeFrame(scene, index, index * 0.04))) < 1e-5, `poses of frame ${index}`);
  }
  // Between frames: close to the motion itself, and unlike either frame.
  await tab.evaluate(() => window.__carom.setTime(1.02));
  await drawn(tab);
  const between = await poses(tab);
  assert.ok(distance(between, posesOf(fakeFrame(scene, 0, 1.02))) < 2e-3);
  assert.ok(distance(between, posesOf(fakeFrame(scene, 0, 1.0))) > 5e-3);
  assert.equal(await hook(tab, "mode"), "recording");
  assert.equal(await hook(tab, "error"), null);
  assert.deepEqual(requests.filter((url) => url !== address && !url.startsWith("data:") && !url.startsWith("blob:")), []);
  assert.deepEqual(problems, []);
  await close();
});

test("a recording plays by itself, stops, steps, loops and scrubs", async () => {
  const { page: tab, problems, close } = await open(write("play.html", [run]));
  const start = await hook(tab, "framesShown");
  await tab.waitForFunction((before) => window.__carom.framesShown > before + 3, start);
  await tab.keyboard.press("Space");
  assert.equal(await hook(tab, "paused"), true);
  await rest("the count of pictures of a page that shows nothing new", () => hook(tab, "pictures"));

  await tab.evaluate(() => window.__carom.setTime(2));
  await tab.keyboard.press("ArrowRight");
  assert.ok(Math.abs((await hook(tab, "time")) - 2.04) < 1e-9);
  await tab.keyboard.press("ArrowLeft");
  await tab.keyboard.press("ArrowLeft");
  assert.ok(Math.abs((await hook(tab, "time")) - 1.96) < 1e-9);

  const box = await tab.locator(".scrubber").boundingBox();
  await tab.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  assert.ok(Math.abs((await hook(tab, "time")) - 3) < 0.15, `scrubbed to ${await hook(tab, "time")}`);

  await tab.getByLabel("Loop").click();
  await tab.evaluate(() => window.__carom.setTime(5.9));
  await tab.getByLabel("Play", { exact: true }).click();
  await tab.waitForFunction(() => window.__carom.paused && window.__carom.time === 6);
  assert.deepEqual(problems, []);
  await close();
});

/** Compares with the stored picture; CAROM_UPDATE_PICTURES=1 stores it instead. */
function compare(name, png) {
  const pixels = shrink(png);
  const { deviation, share } = liveliness(pixels);
  assert.ok(deviation > 8, `${name} is blank: its brightness deviates by ${deviation}`);
  assert.ok(share > 0.05, `${name} is empty: ${share} of it is not sky`);
  const path = join(references, `${name}.png`);
  if (process.env.CAROM_UPDATE_PICTURES === "1") {
    mkdirSync(references, { recursive: true });
    writeFileSync(path, smallPng(pixels));
  }
  assert.ok(existsSync(path), `${path} is missing; CAROM_UPDATE_PICTURES=1 makes it`);
  const difference = colourDifference(pixels, shrink(readFileSync(path)));
  assert.ok(difference.mean < 3 && difference.worst < 24, `${name} looks different: ${JSON.stringify(difference)}`);
  return pixels;
}

test("pictures are not blank and look like the stored ones", async () => {
  const both = write("both.html", [run, other]);
  const pictures = {};
  for (const [name, options, act] of [
    ["light", {}, async () => {}],
    ["dark", { dark: true }, async () => {}],
    ["plots", {}, async (tab) => tab.click("#tab-plots")],
    ["everything", {}, async (tab) => { for (const key of "cjbmx") await tab.keyboard.press(key); }],
    ["small", { width: 600, height: 400 }, async () => {}],
    ["full", { hash: "#quality=full" }, async () => {}],
  ]) {
    const { page: tab, problems, close } = await open(both + (options.hash ?? ""), { reducedMotion: true, ...options });
    await tab.evaluate(() => window.__carom.setTime(1.2));
    await act(tab);
    await drawn(tab);
    await tab.evaluate(() => Promise.allSettled(document.getAnimations().map((animation) => animation.finished))); // Switches slide.
    pictures[name] = compare(name, await tab.screenshot());
    assert.deepEqual(problems, []);
    await close();
  }
  // The measure sees what it should: another theme, and things drawn on top.
  assert.ok(colourDifference(pictures.light, pictures.dark).mean > 60);
  assert.ok(colourDifference(pictures.light, pictures.everything).worst > 24);
});

test("a ghost can be hidden and removed; a second run only moves itself", async () => {
  const { page: tab, close } = await open(write("ghost.html", [run, other]));
  await tab.evaluate(() => window.__carom.setTime(0.8));
  await drawn(tab);
  assert.ok(distance(await poses(tab), posesOf(fakeFrame(scene, 20, 0.8))) < 1e-5);
  const calls = await hook(tab, "drawCalls");
  await tab.getByLabel("Show the ghost").click();
  await drawn(tab);
  assert.ok((await hook(tab, "drawCalls")) < calls, "a hidden ghost is not drawn");
  await tab.getByLabel("Remove the ghost").click();
  assert.equal(await tab.getByLabel("Remove the ghost").count(), 0);
  await close();
});

test("picking a body marks it and tells about it", async () => {
  const { page: tab, problems, close } = await open(write("pick.html", [run]));
  await tab.evaluate(() => window.__carom.setTime(1.2));
  await drawn(tab);
  const [x, y] = await tab.evaluate(() => window.__carom.screenPosition(5));
  await tab.mouse.click(x, y);
  assert.equal(await hook(tab, "selected"), 5);
  const card = tab.locator(".selection");
  await card.waitFor();
  await card.getByText(/block/).first().waitFor();
  const expected = posesOf(fakeFrame(scene, 30, 1.2)).slice(35, 38).map((value) => value.toFixed(3).replace("-", "−"));
  for (const value of expected) await card.getByText(value).first().waitFor();
  assert.match(await card.innerText(), /Mass kg\s+2\.000/);
  await tab.keyboard.press("t");
  assert.equal(await card.getByText("Follow").getAttribute("aria-pressed"), "true");
  await tab.keyboard.press("Escape");
  assert.equal(await hook(tab, "selected"), null);
  assert.equal(await card.isVisible(), false);
  // The same by the list of bodies, for a name that is too long.
  await tab.click("#tab-bodies");
  await tab.locator("button.body").last().click();
  assert.equal(await hook(tab, "selected"), 9);
  assert.deepEqual(problems, []);
  await close();
});

test("the wheel zooms to what is under the pointer", async () => {
  const { page: tab, close } = await open(write("zoom.html", [run]), { reducedMotion: true });
  await tab.evaluate(() => window.__carom.setTime(1.2));
  await drawn(tab);
  const place = () => tab.evaluate(() => window.__carom.screenPosition(7));
  const size = async () => {
    const [a, b] = await tab.evaluate(() => [window.__carom.screenPosition(1), window.__carom.screenPosition(4)]);
    return Math.hypot(a[0] - b[0], a[1] - b[1]);
  };
  const before = await place();
  const wide = await size();
  await tab.mouse.move(...before);
  await tab.mouse.wheel(0, -240);
  await until("what was seen is larger", async () => (await size()) > 1.2 * wide);
  await rest("the camera", place);
  assert.ok(distance(before, await place()) < 25, `from ${before} to ${await place()}`);
  await close();
});

test("geom groups, wireframe and decorations change the picture", async () => {
  const { page: tab, close } = await open(write("toggles.html", [run]), { width: 640, height: 480, reducedMotion: true });
  await tab.keyboard.press("p");
  await drawn(tab);
  const picture = async () => shrink(await tab.screenshot());
  // The page settles first: panel, first view and shadows may come with later frames.
  let plain = await picture();
  for (let frame = 0, still = 0; frame < 50 && still < 3; frame++) {
    await drawn(tab);
    const next = await picture();
    still = colourDifference(plain, next).worst < 0.05 ? still + 1 : 0;
    plain = next;
  }
  const difference = async () => {
    await drawn(tab);
    return colourDifference(plain, await picture()).worst;
  };
  for (const key of ["0", "4", "w", "f", "g", "n", "m", "j", "b"]) {
    await tab.keyboard.press(key);
    const worst = await difference();
    assert.ok(worst > 0.6, `key ${key} changes nothing (${worst})`);
    await tab.keyboard.press(key);
    // What is switched back may take some frames to be drawn.
    let left = await difference();
    for (let frame = 0; frame < 50 && left >= 0.3; frame++) left = await difference();
    assert.ok(left < 0.3, `key ${key} does not switch back (${left})`);
  }
  await close();
});

test("a thousand boxes are drawn at once", async () => {
  const many = { ...fakeScene(), name: "boxes", nq: 0, nu: 0, joints: [], actuators: [], sensors: [], tendons: [], sites: [] };
  const box = many.geoms.find((geom) => geom.kind === "box");
  many.bodies = Array.from({ length: 1001 }, (_, i) => ({ name: `box ${i}`, parent: 0, mass: 1, inertial_pos: [0, 0, 0] }));
  many.geoms = [many.geoms[0], ...Array.from({ length: 1000 }, (_, i) => ({ ...box, body: i + 1, size: [0.04, 0.04, 0.03 + 0.0001 * (i % 50)] }))];
  const place = (i, time) => [0.2 * (i % 32) - 3, 0.2 * Math.floor(i / 32) - 3, 0.1 + 0.05 * Math.sin(i + time), 1, 0, 0, 0];
  const frame = (number, time) => encodeFrame({ number, time, kinetic: 0, potential: 0, poses: many.bodies.map((_, i) => place(i, time)), contacts: [], tendon: [], qpos: [], ctrl: [], sensors: [], gradient: null });
  const bytes = encodeRecording("boxes", [frame(0, 0), frame(1, 1)]);
  const { page: tab, problems, close } = await open(write("many.html", [{ name: "boxes", bytes }], many), { width: 640, height: 480 });
  await drawn(tab);
  assert.ok((await hook(tab, "drawCalls")) <= 12, `${await hook(tab, "drawCalls")} draw calls`);
  assert.deepEqual(problems, []);
  await close();
});

test("a small window keeps everything within reach", async () => {
  for (const [width, height] of [[600, 400], [390, 700], [320, 480]]) {
    const { page: tab, close } = await open(write("small.html", [run, other]), { width, height, touch: true });
    assert.equal(await tab.locator(".panel").isVisible(), false, "the panel is closed at first");
    await tab.getByRole("button", { name: "Panel", exact: true }).click();
    assert.equal(await tab.locator(".panel").isVisible(), true);
    const outside = await tab.evaluate(() =>
      [...document.querySelectorAll("button, .panel, .title, .transport, .time")].filter((element) => {
        const box = element.getBoundingClientRect();
        const clipped = element.closest(".rows, .tabs") !== null;
        return box.width > 0 && !clipped && (box.left < -1 || box.right > innerWidth + 1 || box.top < -1 || box.bottom > innerHeight + 1);
      }).map((element) => element.className || element.textContent),
    );
    assert.deepEqual(outside, [], `at ${width} × ${height}`);
    await close();
  }
});

test("every control has a name, and the page waits when motion is unwelcome", async () => {
  const { page: tab, close } = await open(write("names.html", [run, other]), { reducedMotion: true });
  assert.equal(await hook(tab, "paused"), true);
  const nameless = await tab.evaluate(() =>
    [...document.querySelectorAll("button, input, select, canvas")]
      .filter((element) => !(element.getAttribute("aria-label") || element.textContent?.trim() || element.closest("label")?.textContent?.trim()))
      .map((element) => element.outerHTML),
  );
  assert.deepEqual(nameless, []);
  await tab.keyboard.press("?");
  assert.equal(await tab.locator("dialog").isVisible(), true);
  await tab.keyboard.press("Escape");
  assert.equal(await tab.locator("dialog").isVisible(), false);
  await close();
});

test("a dropped recording is shown, or said why not", async () => {
  const { page: tab, close } = await open(write("drop.html", [run]));
  const drop = (bytes, name, target) =>
    tab.evaluate(
      ([base64, fileName, selector]) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], fileName));
        window.dispatchEvent(new DragEvent("dragenter", { dataTransfer: data, cancelable: true }));
        document.querySelector(selector).dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
      },
      [bytes.toString("base64"), name, target],
    );
  await drop(other.bytes, "measured.crr", ".target.ghost");
  await tab.getByLabel("Remove the ghost").waitFor();
  await drop(fakeRecording(scene, "short", 0, 11), "short.crr", ".target");
  await tab.waitForFunction(() => document.querySelector(".runs .run .name")?.textContent === "short.crr");
  await drop(Buffer.from("no recording at all"), "notes.txt", ".target");
  const banner = tab.locator(".banner");
  await banner.waitFor();
  assert.match(await banner.innerText(), /notes\.txt cannot be shown: this is not a recording/);
  assert.match(await hook(tab, "error"), /CRR1/);
  await tab.getByLabel("Dismiss").click();
  assert.equal(await banner.isVisible(), false);
  await close();
});

test("the first view holds a body from where it is thrown to where it lands, and does not lose what falls without end", async () => {
  const thrown = (name, reach) => {
    const frames = Array.from({ length: 31 }, (_, i) => fakeFrame(scene, i, 0.04 * i, { offset: { 1: [(reach * i) / 30, 0, 0] } }));
    return write(`${name}.html`, [{ name, bytes: encodeRecording(name, frames) }]);
  };
  const placed = async (tab, time, body) => {
    await tab.evaluate((time) => window.__carom.setTime(time), time);
    await drawn(tab);
    return tab.evaluate((body) => [...window.__carom.screenPosition(body), window.innerWidth, window.innerHeight], body);
  };
  const isSeen = ([x, y, width, height]) => x > 0 && x < width && y > 0 && y < height;
  const { page: tab, close } = await open(thrown("throw", 8), { reducedMotion: true });
  for (const time of [0, 0.4, 0.8, 1.2]) assert.ok(isSeen(await placed(tab, time, 1)), `at ${time} s`);
  await close();
  // A view of a kilometre would show nothing at all.
  const { page: far, close: closeFar } = await open(thrown("fall", 1000), { reducedMotion: true });
  const [first, other] = [await placed(far, 0, 1), await placed(far, 0, 4)];
  assert.ok(isSeen(first) && isSeen(other));
  assert.ok(Math.hypot(first[0] - other[0], first[1] - other[1]) > 5, `${first} ${other}`);
  await closeFar();
});

test("poses that are not finite are said and not drawn", async () => {
  const frames = [0, 1, 2].map((i) => fakeFrame(scene, i, 0.5 * i));
  for (let k = 0; k < 7; k++) frames[1].writeFloatLE(NaN, 64 + 4 * (7 * 5 + k));
  frames[1].writeFloatLE(Infinity, 64 + 4 * (7 * 6));
  const { page: tab, problems, close } = await open(write("nan.html", [{ name: "nan", bytes: encodeRecording("nan", frames) }]), { reducedMotion: true });
  await tab.evaluate(() => window.__carom.setTime(0.5));
  await tab.locator(".banner").getByText("2 bodies have no finite position").waitFor();
  assert.ok((await poses(tab)).every(Number.isFinite));
  await tab.evaluate(() => window.__carom.setTime(1));
  await tab.waitForFunction(() => window.__carom.error === null);
  assert.ok(distance(await poses(tab), posesOf(frames[2])) < 1e-5);
  assert.deepEqual(problems, []);
  await close();
});

test("a page without data, without a run or with broken data says so", async () => {
  const bare = join(folder, "bare.html");
  writeFileSync(bare, page);
  const cut = run.bytes.subarray(0, 5000);
  const cases = [
    [pathToFileURL(bare).href, /Nothing to show yet/],
    [write("no-run.html", []), /without a run/],
    [write("broken.html", [{ name: "x", bytes: cut }]), /cannot be shown: .*(ends behind the data|cut short|too short)/],
    [write("foreign.html", [run], { ...scene, nu: 3 }), /belong to different models/],
    [write("newer.html", [run], { ...scene, version: 2 }), /version 2/],
  ];
  for (const [address, expected] of cases) {
    const { page: tab, problems, close } = await openPage(browser, address);
    await tab.waitForFunction(() => window.__carom);
    assert.match(await tab.evaluate(() => document.body.innerText), expected);
    assert.equal(await hook(tab, "ready"), false);
    assert.deepEqual(problems, []);
    await close();
  }
});
