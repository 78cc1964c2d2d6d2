import type { Scene } from "../src/protocol";

export function fakeScene(): Scene;
export function fakeFrame(scene: Scene, number: number, time: number, hold?: object): Buffer;
export function encodeFrame(frame: object): Buffer;
export function encodeRecording(name: string, frames: Buffer[]): Buffer;
export function fakeRecording(scene: Scene, name: string, phase?: number, count?: number, step?: number): Buffer;
export function exportPage(page: string, scene: Scene, recordings: { name: string; bytes: Buffer }[]): string;
export function posesOf(frame: Buffer): number[];
