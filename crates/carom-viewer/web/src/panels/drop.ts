/** Files dropped on the page: recordings, and pages exported by carom. */
import { h } from "../dom";
import type { Session } from "../session";

export class DropZone {
  readonly element: HTMLElement;
  private readonly asRun = h("div", { class: "target" }, "Show this run");
  private readonly asGhost = h("div", { class: "target ghost" }, "Lay it over as a ghost");

  constructor(private readonly session: Session) {
    this.element = h("div", { class: "drop", hidden: true }, this.asRun, this.asGhost);
    window.addEventListener("dragenter", (event) => this.enter(event));
    window.addEventListener("dragover", (event) => this.over(event));
    window.addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) this.element.hidden = true;
    });
    window.addEventListener("drop", (event) => void this.drop(event));
  }

  private enter(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.element.hidden = false;
    this.asGhost.hidden = this.session.recording === null;
  }

  private over(event: DragEvent): void {
    if (this.element.hidden) return;
    event.preventDefault();
    const ghost = this.overGhost(event);
    this.asGhost.classList.toggle("over", ghost);
    this.asRun.classList.toggle("over", !ghost);
  }

  private overGhost(event: DragEvent): boolean {
    return !this.asGhost.hidden && this.asGhost.contains(event.target as Node);
  }

  private async drop(event: DragEvent): Promise<void> {
    if (this.element.hidden) return;
    event.preventDefault();
    const as = this.overGhost(event) ? "ghost" : "run";
    this.element.hidden = true;
    const file = event.dataTransfer?.files[0];
    if (file) await this.open(file, as);
  }

  async open(file: File, as: "run" | "ghost"): Promise<void> {
    try {
      if (/\.html?$/i.test(file.name)) {
        const text = await file.text();
        this.session.openDocument(new DOMParser().parseFromString(text, "text/html"));
      } else {
        this.session.addRecording(await file.arrayBuffer(), file.name, as);
      }
    } catch (problem) {
      this.session.fail(`${file.name} cannot be shown: ${problem instanceof Error ? problem.message : String(problem)}.`);
    }
  }
}
