// The page against a server that speaks the protocol: what is sent is shown, what is done is sent.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, afterEach, test } from "node:test";
import { distance, drawn, hook, launch, openPage, poses, ready, until } from "./browser.mjs";
import { fakeFrame, fakeRecording, fakeScene, posesOf } from "./fake-model.mjs";
import { FakeServer } from "./fake-server.mjs";

const page = readFileSync(new URL("../dist/index.html", import.meta.url), "utf8");
let browser;
let server;
let tab;
let opened;

before(async () => {
  browser = await launch();
});

after(() => browser.close());

beforeEach(async () => {
  server = new FakeServer(page);
  opened = await openPage(browser, await server.listen());
  tab = opened.page;
  await ready(tab);
});

afterEach(async () => {
  await opened.close();
  await server.close();
});

const told = (type) => server.received.filter((message) => message.type === type);

/** Pauses and waits until the page shows the last frame. */
async function settle() {
  if (!server.state.paused) await tab.keyboard.press("Space");
  await until("the server pauses", () => server.state.paused);
  await until("the last frame is shown", async () => (await hook(tab, "frame")) === server.state.number);
  await drawn(tab);
}

test("frames advance, are acknowledged, and are shown as sent", async () => {
  const before = await hook(tab, "framesShown");
  await tab.waitForFunction((count) => window.__carom.framesShown > count + 5, before);
  await until("frames are acknowledged", () => server.shown > 0);
  assert.equal(await hook(tab, "mode"), "live");
  const [frame, shown] = await tab.evaluate(() => [window.__carom.frame, Array.from(window.__carom.poses())]);
  assert.ok(distance(shown, posesOf(server.sent.get(frame))) < 1e-5);
  await settle();
  assert.ok(distance(await poses(tab), posesOf(server.sent.get(server.state.number))) < 1e-5);
  assert.equal(await hook(tab, "paused"), true);
  assert.deepEqual(opened.problems, []);
  const own = new URL(tab.url()).host;
  assert.ok(opened.requests.every((url) => url.startsWith("data:") || new URL(url).host === own), "only its own server is asked");
});

test("buttons and keys reach the server", async () => {
  await settle();
  await tab.getByLabel("Step", { exact: true }).click();
  await tab.keyboard.press("r");
  await tab.keyboard.press("]");
  await tab.getByLabel("Speed").selectOption("0.25");
  await tab.getByLabel("Keyframe").selectOption("1");
  await tab.keyboard.press("Space");
  await until("all has arrived", () => told("resume").length === 1);
  assert.deepEqual(told("step"), [{ type: "step", count: 1 }]);
  assert.equal(told("reset").length, 1);
  assert.deepEqual(told("speed").map((message) => message.value), [2, 0.25]);
  assert.deepEqual(told("keyframe"), [{ type: "keyframe", index: 1 }]);
});

test("a control's slider sends its value and shows the server's", async () => {
  await settle();
  const before = await poses(tab);
  const slider = tab.getByLabel("shoulder_motor", { exact: true });
  const box = await slider.boundingBox();
  await tab.mouse.click(box.x + box.width * 0.75, box.y + box.height / 2);
  await until("the control arrives", () => told("control").length > 0);
  const { index, value } = told("control").at(-1);
  assert.equal(index, 0);
  assert.ok(Math.abs(value - 1) < 0.1, `value ${value}`);
  await until("the arm moves", async () => distance(before, await poses(tab)) > 0.05);
  const number = tab.getByLabel("shoulder_motor, number");
  await number.fill("-0.5");
  await number.press("Enter");
  await until("the typed value arrives", () => server.state.ctrl[0] === -0.5);
  await tab.getByText("All to zero").click();
  await until("all are zero", () => server.state.ctrl.every((x) => x === 0));
  await until("the slider follows", async () => (await number.inputValue()) === "0.000");
});

test("a joint's slider moves the joint", async () => {
  await settle();
  await tab.click("#tab-joints");
  const before = await poses(tab);
  const elbow = tab.getByLabel("elbow", { exact: true });
  await elbow.scrollIntoViewIfNeeded();
  const box = await elbow.boundingBox();
  await tab.mouse.click(box.x + box.width * 0.25, box.y + box.height / 2);
  await until("the joint arrives", () => told("qpos").length > 0);
  const { index, value } = told("qpos").at(-1);
  assert.equal(index, 43);
  assert.ok(Math.abs(value + Math.PI / 2) < 0.2, `value ${value}`);
  await until("the arm moves", async () => distance(before, await poses(tab)) > 0.1);
});

test("Ctrl and the mouse pull a body by a spring", async () => {
  await settle();
  const [x, y] = await tab.evaluate(() => window.__carom.screenPosition(5));
  const calls = await hook(tab, "drawCalls");
  const before = await poses(tab);
  await tab.keyboard.down("Control");
  await tab.mouse.move(x, y);
  await tab.mouse.down();
  await tab.mouse.move(x + 60, y - 40, { steps: 4 });
  await until("the target follows the mouse", () => told("drag").length >= 2 && distance(told("drag").at(-1).target, told("drag")[0].target) > 0.05);
  const last = told("drag").at(-1);
  assert.equal(last.body, 5);
  assert.deepEqual(last.point, told("drag")[0].point);
  assert.ok(Math.hypot(...last.point) < 0.3, "the point lies on the body");
  await until("the body moves", async () => distance(before, await poses(tab)) > 0.2);
  await until("the spring is drawn", async () => (await hook(tab, "drawCalls")) > calls);
  assert.equal(await hook(tab, "selected"), 5);
  await tab.mouse.up();
  await tab.keyboard.up("Control");
  await until("it is let go", () => told("release").length === 1);
});

test("errors of the server are shown until they are gone", async () => {
  server.setError("The simulation blew up at 1.2 s: qacc[3] is not finite. Reset, or use a smaller time step.");
  const banner = tab.locator(".banner");
  await banner.waitFor();
  assert.match(await banner.innerText(), /qacc\[3\] is not finite/);
  assert.match(await hook(tab, "error"), /blew up/);
  server.setError(null);
  await until("the banner goes", async () => !(await banner.isVisible()));
});

test("a lost connection is said, and comes back", async () => {
  await server.stop();
  const banner = tab.locator(".banner");
  await banner.getByText("Connection lost").waitFor();
  assert.match(await hook(tab, "error"), /connection lost/);
  await server.listen();
  await tab.getByText("Reconnect now").click({ timeout: 5000 }).catch(() => {}); // It may have come back by itself.
  await until("the banner goes", async () => !(await banner.isVisible()));
  const shown = await hook(tab, "framesShown");
  await tab.waitForFunction((count) => window.__carom.framesShown > count + 2, shown);
});

test("recordings of a server are played by the page", async () => {
  const scene = fakeScene();
  const player = new FakeServer(page, { recordings: [fakeRecording(scene, "run"), fakeRecording(scene, "ghost", 0.4)] });
  const second = await openPage(browser, await player.listen());
  await ready(second.page);
  await second.page.waitForFunction(() => window.__carom.mode === "recording");
  await second.page.getByLabel("Remove the ghost").waitFor();
  await second.page.evaluate(() => window.__carom.setTime(2));
  await drawn(second.page);
  assert.ok(distance(await poses(second.page), posesOf(fakeFrame(scene, 50, 2))) < 1e-5);
  assert.deepEqual(second.problems, []);
  assert.deepEqual(player.received, [], "scrubbing is the page's own affair");
  await second.close();
  await player.close();
});

test("plots grow while the simulation runs", async () => {
  await tab.click("#tab-plots");
  await tab.getByLabel("Add a plot").selectOption("control 0");
  assert.equal(await tab.locator("figure").count(), 3);
  const ink = () =>
    tab.evaluate(() =>
      [...document.querySelectorAll("canvas.plot")].map((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((value, i) => i % 4 === 3 && value > 0).length;
      }),
    );
  await until("all plots have more than a few pixels", async () => (await ink()).every((count) => count > 400));
  await tab.getByLabel(/Remove the plot of Energy/).click();
  assert.equal(await tab.locator("figure").count(), 2);
});
