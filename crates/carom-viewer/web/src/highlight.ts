/** An outline around the selected body. */
import { BackSide, Group, Mesh, MeshBasicMaterial, type BufferGeometry, type Object3D } from "three";
import type { Palette } from "./colours";
import { outlineDirections } from "./geometry";
import type { SceneView } from "./scene";

/** Width of the outline in pixels at 800 pixels of height. */
const WIDTH = 0.0042;

export class Highlight {
  private readonly group = new Group();
  private readonly material: MeshBasicMaterial;
  private view: SceneView | null = null;
  private body = -1;

  constructor(parent: Object3D) {
    this.material = new MeshBasicMaterial({ side: BackSide, toneMapped: false });
    this.material.onBeforeCompile = (shader) => {
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nattribute vec3 outline;")
        .replace(
          "#include <project_vertex>",
          `#include <project_vertex>
          vec3 away = normalize(normalMatrix * outline);
          mvPosition.xyz += away * ${WIDTH.toFixed(5)} * -mvPosition.z;
          gl_Position = projectionMatrix * mvPosition;`,
        );
    };
    this.group.matrixAutoUpdate = false;
    parent.add(this.group);
  }

  select(view: SceneView, body: number, palette: Palette): void {
    this.view = view;
    this.body = body;
    this.material.color.copy(palette.accent);
    this.group.clear();
    if (body <= 0) return;
    for (const batch of view.batches) {
      if (batch.isSite) continue;
      batch.bodies.forEach((owner, i) => {
        if (owner !== body) return;
        const geometry: BufferGeometry = batch.mesh.geometry;
        if (!geometry.hasAttribute("outline")) geometry.setAttribute("outline", outlineDirections(geometry));
        const mesh = new Mesh(geometry, this.material);
        mesh.raycast = () => {};
        mesh.matrixAutoUpdate = false;
        mesh.matrix.copy(batch.locals[i]);
        mesh.userData.batch = batch;
        this.group.add(mesh);
      });
    }
  }

  update(): void {
    if (!this.view || this.body <= 0) return;
    this.group.matrix.copy(this.view.bodies[this.body].matrixWorld);
    this.group.matrixWorldNeedsUpdate = true;
    for (const mesh of this.group.children) mesh.visible = (mesh.userData.batch as { mesh: Mesh }).mesh.visible;
  }

  clear(): void {
    this.group.clear();
    this.view = null;
    this.body = -1;
  }
}
