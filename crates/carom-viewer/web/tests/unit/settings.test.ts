import { beforeEach, expect, test } from "vitest";
import { SettingsStore } from "../../src/settings";

const kept = new Map<string, string>();

beforeEach(() => {
  kept.clear();
  const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value) };
  Object.assign(globalThis, { localStorage: storage });
});

const USUAL = [true, true, true, false, false, false];
const FOR_COLLISIONS = [{ body: 0, group: 0 }, { body: 1, group: 3 }, { body: 2, group: 3 }];

test("a model whose only geoms are for collisions is not invisible", () => {
  const store = new SettingsStore();
  store.reveal(FOR_COLLISIONS);
  expect(store.values.groups).toEqual([true, true, true, true, false, false]);
  // The next model has geoms to look at.
  store.reveal([{ body: 1, group: 2 }, { body: 1, group: 3 }]);
  expect(store.values.groups).toEqual(USUAL);
});

test("what was revealed is not kept, and what the user chose stays", () => {
  const store = new SettingsStore();
  store.reveal(FOR_COLLISIONS);
  store.set({ sites: true });
  expect(new SettingsStore().values.groups).toEqual(USUAL);
  store.toggleGroup(3);
  store.toggleGroup(4);
  store.reveal(FOR_COLLISIONS);
  expect(store.values.groups).toEqual([true, true, true, false, true, false]);
});
