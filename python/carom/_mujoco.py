"""From MuJoCo's compiled model to ours: a description of its structure, and its numbers as they are."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from . import _core
from .errors import ModelError
from .state import Array

Hull = tuple[list[int], list[list[int]], list[list[int]], list[list[int]], list[list[int]]]

_GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_JOINTS = ("free", "ball", "slide", "hinge")
_DYNAMICS = {0: "none", 1: "integrator", 2: "filter", 3: "filterexact", 4: "muscle", 7: "user"}
_GAINS = {0: "fixed", 1: "affine", 2: "muscle", 6: "user"}
_BIASES = {0: "none", 1: "affine", 2: "muscle", 5: "user"}
_CAMERAS = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
_INTERPOLATIONS = ("zoh", "linear", "cubic")
_CONTACT_DATA = ("found", "force", "torque", "dist", "pos", "normal", "tangent", "linvel", "angvel")
_RAY_DATA = ("dist", "dir", "origin", "point", "normal", "depth")
_REDUCTIONS = ("none", "mindist", "maxforce", "netforce")

_FAMILIES = {
    "body": ("nbody", "body"),
    "joint": ("njnt", "joint"),
    "geom": ("ngeom", "geom"),
    "site": ("nsite", "site"),
    "camera": ("ncam", "cam"),
    "mesh": ("nmesh", "mesh"),
    "hfield": ("nhfield", "hfield"),
    "pair": ("npair", "pair"),
    "equality": ("neq", "equality"),
    "tendon": ("ntendon", "tendon"),
    "actuator": ("nactuator", "actuator"),
    "sensor": ("nsensor", "sensor"),
    "key": ("nkey", "key"),
}
"""Families of elements: how many there are, and MuJoCo's word for one."""

_OBJECTS = {1: "body", 2: "xbody", 3: "joint", 5: "geom", 6: "site", 7: "camera", 18: "tendon", 19: "actuator"}
"""Kinds of objects by MuJoCo's code."""


def adopt(model: Any) -> _core.Model:
    """A model with the structure and the numbers of MuJoCo's."""
    problems = _refused(model)
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise ModelError(f"carom does not simulate everything in this MuJoCo model:{lines}")
    text = _Writer(model).text()
    numbers = {
        name: np.ascontiguousarray(getattr(model, name), dtype=np.float64).reshape(-1)
        for name in _core.Model.adopted_arrays()
    }
    numbers["eq_data"] = _equality_data(model)
    names = {family: _names(model, family) for family in _FAMILIES}
    return _core.Model.adopt(text, [_hull(model, mesh) for mesh in range(model.nmesh)], numbers, names)


def _refused(model: Any) -> list[str]:
    """What the model has and carom does not simulate."""
    found = []
    for count, what in [
        (model.nflex, "flexes"),
        (model.nskin, "skins"),
        (model.nplugin, "plugins"),
        (model.nplastic, "plastic springs (springyield)"),
    ]:
        if count:
            found.append(f"{count} {what}")
    for bit, what in [(16, "sleep"), (64, "ipc"), (128, "speculative")]:
        if model.opt.enableflags & bit:
            found.append(f"the option flag '{what}'")
    for index in range(model.nactuator):
        name = _called(model, "actuator", index)
        for kind, known, what in [
            (int(model.actuator_dyntype[index]), _DYNAMICS, "dynamics"),
            (int(model.actuator_gaintype[index]), _GAINS, "gain"),
            (int(model.actuator_biastype[index]), _BIASES, "bias"),
        ]:
            if kind not in known:
                found.append(f"{what} of kind {kind} of {name}: load the file of the model instead (Model.load)")
        if int(model.actuator_trntype[index]) > 5 or int(model.actuator_ctrlnum[index]) != 1:
            found.append(f"several controls or a transmission by orientation of {name}")
    for index in range(model.nsensor):
        if int(model.sensor_type[index]) in (46, 47):
            found.append(f"{_called(model, 'sensor', index)}, which is tactile or a plugin's")
    for index in range(model.neq):
        if int(model.eq_type[index]) > 3:
            found.append(f"{_called(model, 'equality', index)}, which is of a flex")
    return found


def _called(model: Any, family: str, index: int) -> str:
    name = _names(model, family)[index]
    return f"{family} '{name}'" if name else f"{family} {index}"


def _names(model: Any, family: str) -> list[str]:
    count, word = _FAMILIES[family]
    addresses = getattr(model, f"name_{'jnt' if word == 'joint' else 'eq' if word == 'equality' else word}adr")
    texts: bytes = model.names
    ends = [texts.index(b"\0", start) for start in addresses[: getattr(model, count)]]
    return [texts[start:end].decode() for start, end in zip(addresses, ends)]


def _hull(model: Any, mesh: int) -> Hull:
    """The convex hull of a mesh, its vertices renumbered in increasing order."""
    start = int(model.mesh_graphadr[mesh])
    if start < 0:
        return [], [], [], [], []
    graph = model.mesh_graph[start:]
    count, faces = int(graph[0]), int(graph[1])
    edges_at, vertices = graph[2 : 2 + count], graph[2 + count : 2 + 2 * count]
    edges = graph[2 + 2 * count : 2 + 3 * count + 3 * faces]
    triangles = graph[2 + 3 * count + 3 * faces :][: 3 * faces].reshape(-1, 3)
    order = np.argsort(vertices)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    of_vertex = {int(vertices[local]): int(place[local]) for local in range(count)}
    neighbors = []
    ends = np.nonzero(edges == -1)[0]
    for first, end in zip(edges_at[order], ends[np.searchsorted(ends, edges_at[order])]):
        neighbors.append(place[edges[first:end]].tolist())
    polygons = []
    first_polygon, polygon_count = int(model.mesh_polyadr[mesh]), int(model.mesh_polynum[mesh])
    for polygon in range(first_polygon, first_polygon + polygon_count):
        begin, corners = int(model.mesh_polyvertadr[polygon]), int(model.mesh_polyvertnum[polygon])
        polygons.append([of_vertex[int(vertex)] for vertex in model.mesh_polyvert[begin : begin + corners]])
    around = []
    for vertex in vertices[order]:
        at = int(model.mesh_vertadr[mesh]) + int(vertex)
        begin, number = int(model.mesh_polymapadr[at]), int(model.mesh_polymapnum[at])
        around.append([int(polygon) for polygon in model.mesh_polymap[begin : begin + number]])
    return vertices[order].tolist(), neighbors, triangles.tolist(), polygons, around


def _equality_data(model: Any) -> Array:
    """The numbers of equalities, of which we keep twelve."""
    data = np.zeros((model.neq, 12))
    width = min(12, model.eq_data.shape[1])
    data[:, :width] = model.eq_data[:, :width]
    return data.reshape(-1)


class _Writer:
    """Writes MJCF that compiles to the structure of a model; every element has a name, and every value is explicit."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.lines: list[str] = []
        self.names: dict[str, list[str]] = {}
        for family in _FAMILIES:
            names = _names(model, family)
            taken = set(names)
            for index, name in enumerate(names):
                if not name:
                    fresh = f"{family} {index}"
                    while fresh in taken:
                        fresh += "'"
                    names[index] = fresh
                    taken.add(fresh)
            self.names[family] = names

    def text(self) -> str:
        """The whole description."""
        name = self.model.names[: self.model.names.index(b"\0")].decode()
        self.lines.append(f"<mujoco model={quoteattr(name)}>")
        compiler = {"angle": "radian", "autolimits": False, "inertiafromgeom": False, "balanceinertia": False}
        self.tag("compiler", compiler)
        self.option()
        self.assets()
        self.lines.append("<worldbody>")
        self.content(0)
        self.lines.append("</worldbody>")
        for section, write in [
            ("contact", self.contact),
            ("equality", self.equality),
            ("tendon", self.tendon),
            ("actuator", self.actuator),
            ("sensor", self.sensor),
            ("keyframe", self.keyframe),
            ("custom", self.custom),
        ]:
            self.lines.append(f"<{section}>")
            write()
            self.lines.append(f"</{section}>")
        self.lines.append("</mujoco>")
        return "\n".join(self.lines)

    def tag(self, name: str, attributes: dict[str, Any], *, closed: bool = True) -> None:
        words = [name]
        for key, value in attributes.items():
            if value is None:
                continue
            if isinstance(value, (bool, np.bool_)):
                value = "true" if value else "false"
            elif not isinstance(value, str):
                numbers = np.atleast_1d(np.asarray(value)).reshape(-1).tolist()
                value = " ".join(map(repr, numbers))
            words.append(f"{key}={quoteattr(value)}")
        self.lines.append(f"<{' '.join(words)}{'/' if closed else ''}>")

    def option(self) -> None:
        opt = self.model.opt
        names = ["timestep", "gravity", "wind", "magnetic", "density", "viscosity", "impratio", "tolerance", "ls_tolerance"]
        names += ["noslip_tolerance", "ccd_tolerance", "iterations", "ls_iterations", "noslip_iterations", "ccd_iterations"]
        names += ["o_margin", "o_solref", "o_solimp", "o_friction"]
        attributes = {name: getattr(opt, name) for name in names}
        attributes["integrator"] = ("Euler", "RK4", "implicit", "implicitfast")[opt.integrator]
        attributes["cone"] = ("pyramidal", "elliptic")[opt.cone]
        attributes["jacobian"] = ("dense", "sparse", "auto")[opt.jacobian]
        attributes["solver"] = ("PGS", "CG", "Newton")[opt.solver]
        groups = [str(group) for group in range(31) if opt.disableactuator >> group & 1]
        attributes["actuatorgroupdisable"] = " ".join(groups) if groups else None
        self.tag("option", attributes, closed=False)
        disable = ["constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl"]
        disable += ["warmstart", "filterparent", "actuation", "refsafe", "sensor", "midphase", "eulerdamp", "autoreset"]
        disable += ["nativeccd", "island", "multiccd"]
        enable = {"override": 1, "energy": 2, "fwdinv": 4, "invdiscrete": 8, "diagexact": 32}
        flags = {name: "disable" for bit, name in enumerate(disable) if opt.disableflags >> bit & 1}
        flags.update({name: "enable" for name, bit in enable.items() if opt.enableflags & bit})
        self.tag("flag", flags)
        self.lines.append("</option>")

    def assets(self) -> None:
        model = self.model
        self.lines.append("<asset>")
        for index in range(model.nmat):
            shine = {name: getattr(model, f"mat_{name}")[index] for name in ("emission", "specular", "shininess", "reflectance")}
            self.tag("material", {"name": f"material {index}", "rgba": model.mat_rgba[index], **shine})
        for index, name in enumerate(self.names["mesh"]):
            first, count = int(model.mesh_vertadr[index]), int(model.mesh_vertnum[index])
            first_face, faces = int(model.mesh_faceadr[index]), int(model.mesh_facenum[index])
            vertices = model.mesh_vert[first : first + count].astype(np.float64)
            self.tag("mesh", {"name": name, "vertex": vertices, "face": model.mesh_face[first_face : first_face + faces]})
        for index, name in enumerate(self.names["hfield"]):
            first, rows, columns = (int(numbers[index]) for numbers in (model.hfield_adr, model.hfield_nrow, model.hfield_ncol))
            heights = model.hfield_data[first : first + rows * columns].astype(np.float64)
            size = model.hfield_size[index]
            self.tag("hfield", {"name": name, "nrow": rows, "ncol": columns, "size": size, "elevation": heights})
        self.lines.append("</asset>")

    def content(self, body: int) -> None:
        """What belongs to a body, and the bodies on it."""
        model = self.model
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        for joint in range(first, first + count):
            self.joint(joint)
        for geom in np.nonzero(model.geom_bodyid == body)[0]:
            self.geom(int(geom))
        for site in np.nonzero(model.site_bodyid == body)[0]:
            self.site(int(site))
        for camera in np.nonzero(model.cam_bodyid == body)[0]:
            self.camera(int(camera))
        for child in np.nonzero(model.body_parentid == body)[0]:
            if child:
                self.body(int(child))

    def body(self, body: int) -> None:
        model = self.model
        attributes = {"name": self.names["body"][body], "pos": model.body_pos[body], "quat": model.body_quat[body]}
        attributes["mocap"] = True if model.body_mocapid[body] >= 0 else None
        attributes["gravcomp"] = model.body_gravcomp[body]
        self.tag("body", attributes, closed=False)
        mass, inertia = model.body_mass[body], model.body_inertia[body]
        if mass > 0 or np.any(inertia > 0):
            pose = {"pos": model.body_ipos[body], "quat": model.body_iquat[body]}
            self.tag("inertial", {**pose, "mass": mass, "diaginertia": inertia})
        self.content(body)
        self.lines.append("</body>")

    def joint(self, joint: int) -> None:
        model = self.model
        kind, dof, qpos = _JOINTS[model.jnt_type[joint]], int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
        is_scalar = kind in ("slide", "hinge")
        self.tag(
            "joint",
            {
                "name": self.names["joint"][joint],
                "type": kind,
                "pos": model.jnt_pos[joint] if kind != "free" else None,
                "axis": model.jnt_axis[joint] if is_scalar else None,
                "ref": model.qpos0[qpos] if is_scalar else None,
                "springref": model.qpos_spring[qpos] if is_scalar else None,
                "limited": bool(model.jnt_limited[joint]),
                "range": model.jnt_range[joint] if model.jnt_limited[joint] else None,
                "actuatorfrclimited": bool(model.jnt_actfrclimited[joint]),
                "actuatorfrcrange": model.jnt_actfrcrange[joint] if model.jnt_actfrclimited[joint] else None,
                "actuatorgravcomp": bool(model.jnt_actgravcomp[joint]),
                "stiffness": np.append(model.jnt_stiffness[joint], model.jnt_stiffnesspoly[joint]),
                "damping": np.append(model.dof_damping[dof], model.dof_dampingpoly[dof]),
                "armature": model.dof_armature[dof],
                "frictionloss": model.dof_frictionloss[dof],
                "margin": model.jnt_margin[joint],
                "solreflimit": model.jnt_solref[joint],
                "solimplimit": model.jnt_solimp[joint],
                "solreffriction": model.dof_solref[dof],
                "solimpfriction": model.dof_solimp[dof],
            },
        )

    def geom(self, geom: int) -> None:
        model = self.model
        kind, asset = _GEOMS[model.geom_type[geom]], int(model.geom_dataid[geom])
        material = int(model.geom_matid[geom])
        size = {"plane": 3, "sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}.get(kind)
        is_fluid = model.geom_fluid[geom, 0] > 0
        self.tag(
            "geom",
            {
                "name": self.names["geom"][geom],
                "type": kind,
                "size": None if size is None else model.geom_size[geom, :size],
                "mesh": self.names["mesh"][asset] if kind in ("mesh", "sdf") else None,
                "hfield": self.names["hfield"][asset] if kind == "hfield" else None,
                "pos": model.geom_pos[geom],
                "quat": model.geom_quat[geom],
                "contype": int(model.geom_contype[geom]),
                "conaffinity": int(model.geom_conaffinity[geom]),
                "condim": int(model.geom_condim[geom]),
                "group": int(model.geom_group[geom]),
                "priority": int(model.geom_priority[geom]),
                "friction": model.geom_friction[geom],
                "solmix": model.geom_solmix[geom],
                "solref": model.geom_solref[geom],
                "solimp": model.geom_solimp[geom],
                "margin": model.geom_margin[geom],
                "gap": model.geom_gap[geom],
                "surfacevel": model.geom_surfacevel[geom],
                "adhesion": model.geom_adhesion[geom],
                "fluidshape": "ellipsoid" if is_fluid else None,
                "fluidcoef": model.geom_fluid[geom, 1:6] if is_fluid else None,
                "material": f"material {material}" if material >= 0 else None,
                "rgba": model.geom_rgba[geom].astype(np.float64),
            },
        )

    def site(self, site: int) -> None:
        model = self.model
        attributes = {"name": self.names["site"][site], "type": _GEOMS[model.site_type[site]], "size": model.site_size[site]}
        attributes.update(pos=model.site_pos[site], quat=model.site_quat[site], group=int(model.site_group[site]))
        material = int(model.site_matid[site])
        attributes.update(rgba=model.site_rgba[site].astype(np.float64), material=f"material {material}" if material >= 0 else None)
        self.tag("site", attributes)

    def camera(self, camera: int) -> None:
        model = self.model
        target, has_lens = int(model.cam_targetbodyid[camera]), bool(np.any(model.cam_sensorsize[camera] > 0))
        self.tag(
            "camera",
            {
                "name": self.names["camera"][camera],
                "mode": _CAMERAS[model.cam_mode[camera]],
                "target": self.names["body"][target] if target >= 0 else None,
                "pos": model.cam_pos[camera],
                "quat": model.cam_quat[camera],
                "projection": "orthographic" if model.cam_projection[camera] else None,
                "fovy": None if has_lens else model.cam_fovy[camera],
                "resolution": model.cam_resolution[camera],
                "sensorsize": model.cam_sensorsize[camera].astype(np.float64) if has_lens else None,
                "focal": model.cam_intrinsic[camera, :2].astype(np.float64) if has_lens else None,
                "principal": model.cam_intrinsic[camera, 2:].astype(np.float64) if has_lens else None,
            },
        )

    def contact(self) -> None:
        model = self.model
        for pair in range(model.npair):
            geoms = [self.names["geom"][int(ids[pair])] for ids in (model.pair_geom1, model.pair_geom2)]
            attributes: dict[str, Any] = {"name": self.names["pair"][pair], "geom1": geoms[0], "geom2": geoms[1]}
            attributes["condim"] = int(model.pair_dim[pair])
            for name in ("friction", "solref", "solreffriction", "solimp", "margin", "gap", "adhesion"):
                attributes[name] = getattr(model, f"pair_{name}")[pair]
            self.tag("pair", attributes)
        for signature in model.exclude_signature.tolist():
            bodies = [self.names["body"][body] for body in (signature >> 16, signature & 0xFFFF)]
            self.tag("exclude", {"body1": bodies[0], "body2": bodies[1]})

    def equality(self) -> None:
        model = self.model
        for index in range(model.neq):
            kind, data = ("connect", "weld", "joint", "tendon")[model.eq_type[index]], model.eq_data[index]
            is_site = kind in ("connect", "weld") and int(model.eq_objtype[index]) == 6
            family = {"joint": "joint", "tendon": "tendon"}.get(kind, "site" if is_site else "body")
            attributes: dict[str, Any] = {"name": self.names["equality"][index]}
            for number, ids in ((1, model.eq_obj1id), (2, model.eq_obj2id)):
                if ids[index] >= 0:
                    attributes[f"{family}{number}"] = self.names[family][int(ids[index])]
            if kind == "connect" and not is_site:
                attributes["anchor"] = data[:3]
            elif kind == "weld":
                if not is_site:
                    attributes.update(anchor=data[:3], relpose=data[3:10])
                attributes["torquescale"] = data[10]
            elif kind in ("joint", "tendon"):
                attributes["polycoef"] = data[:5]
            attributes["active"] = bool(model.eq_active0[index])
            attributes.update(solref=model.eq_solref[index], solimp=model.eq_solimp[index])
            self.tag(kind, attributes)

    def tendon(self) -> None:
        model = self.model
        for index in range(model.ntendon):
            first = int(model.tendon_adr[index])
            path = range(first, first + int(model.tendon_num[index]))
            is_fixed = int(model.wrap_type[first]) == 1
            limited, force_limited = bool(model.tendon_limited[index]), bool(model.tendon_actfrclimited[index])
            self.tag(
                "fixed" if is_fixed else "spatial",
                {
                    "name": self.names["tendon"][index],
                    "rgba": None if is_fixed else model.tendon_rgba[index].astype(np.float64),
                    "width": None if is_fixed else model.tendon_width[index],
                    "limited": limited,
                    "range": model.tendon_range[index] if limited else None,
                    "actuatorfrclimited": force_limited,
                    "actuatorfrcrange": model.tendon_actfrcrange[index] if force_limited else None,
                    "stiffness": np.append(model.tendon_stiffness[index], model.tendon_stiffnesspoly[index]),
                    "damping": np.append(model.tendon_damping[index], model.tendon_dampingpoly[index]),
                    "springlength": model.tendon_lengthspring[index],
                    "armature": model.tendon_armature[index],
                    "frictionloss": model.tendon_frictionloss[index],
                    "margin": model.tendon_margin[index],
                    "solreflimit": model.tendon_solref_lim[index],
                    "solimplimit": model.tendon_solimp_lim[index],
                    "solreffriction": model.tendon_solref_fri[index],
                    "solimpfriction": model.tendon_solimp_fri[index],
                },
                closed=False,
            )
            for wrap in path:
                self.wrap(wrap)
            self.lines.append(f"</{'fixed' if is_fixed else 'spatial'}>")

    def wrap(self, wrap: int) -> None:
        model = self.model
        kind, which, number = int(model.wrap_type[wrap]), int(model.wrap_objid[wrap]), float(model.wrap_prm[wrap])
        if kind == 1:
            self.tag("joint", {"joint": self.names["joint"][which], "coef": number})
        elif kind == 2:
            self.tag("pulley", {"divisor": number})
        elif kind == 3:
            self.tag("site", {"site": self.names["site"][which]})
        else:
            side = round(number)
            side_site = self.names["site"][side] if side >= 0 else None
            self.tag("geom", {"geom": self.names["geom"][which], "sidesite": side_site})

    def actuator(self) -> None:
        model = self.model
        for index in range(model.nactuator):
            first, second = (int(which) for which in model.actuator_trnid[index])
            attributes: dict[str, Any] = {"name": self.names["actuator"][index], "group": int(model.actuator_group[index])}
            attributes.update(self.transmission(int(model.actuator_trntype[index]), first, second))
            attributes["dyntype"] = _DYNAMICS[int(model.actuator_dyntype[index])]
            attributes["gaintype"] = _GAINS[int(model.actuator_gaintype[index])]
            attributes["biastype"] = _BIASES[int(model.actuator_biastype[index])]
            for name in ("gear", "cranklength", "dynprm", "gainprm", "biasprm", "armature"):
                attributes[name] = getattr(model, f"actuator_{name}")[index]
            if attributes["cranklength"] <= 0:
                del attributes["cranklength"]
            attributes["damping"] = np.append(model.actuator_damping[index], model.actuator_dampingpoly[index])
            for name in ("ctrl", "force", "act"):
                limited = bool(getattr(model, f"actuator_{name}limited")[index])
                attributes[f"{name}limited"] = limited
                attributes[f"{name}range"] = getattr(model, f"actuator_{name}range")[index] if limited else None
            if np.any(model.actuator_lengthrange[index]):
                attributes["lengthrange"] = model.actuator_lengthrange[index]
            if attributes["dyntype"] != "none":
                attributes["actdim"] = int(model.actuator_actnum[index])
                attributes["actearly"] = bool(model.actuator_actearly[index])
            attributes.update(self.history(model.actuator_history[index], model.actuator_delay[index]))
            self.tag("general", attributes)

    def transmission(self, kind: int, first: int, second: int) -> dict[str, str | None]:
        names = self.names
        if kind in (0, 1):
            return {("joint", "jointinparent")[kind]: names["joint"][first]}
        if kind == 2:
            return {"cranksite": names["site"][first], "slidersite": names["site"][second]}
        if kind == 3:
            return {"tendon": names["tendon"][first]}
        if kind == 4:
            return {"site": names["site"][first], "refsite": names["site"][second] if second >= 0 else None}
        return {"body": names["body"][first]}

    def history(self, samples: Any, delay: float) -> dict[str, Any]:
        count, interpolation = (int(number) for number in samples)
        if count == 0:
            return {}
        return {"nsample": count, "interp": _INTERPOLATIONS[interpolation], "delay": float(delay)}

    def sensor(self) -> None:
        model = self.model
        for index in range(model.nsensor):
            kind = int(model.sensor_type[index])
            tag = _SENSORS[kind]
            attributes: dict[str, Any] = {"name": self.names["sensor"][index]}
            attributes.update(self.measured(index, kind, tag))
            attributes["cutoff"] = model.sensor_cutoff[index]
            attributes["noise"] = model.sensor_noise[index]
            attributes.update(self.history(model.sensor_history[index], model.sensor_delay[index]))
            if np.any(model.sensor_interval[index]):
                attributes["interval"] = model.sensor_interval[index]
            self.tag(tag, attributes)

    def measured(self, index: int, kind: int, tag: str) -> dict[str, Any]:
        """What a sensor looks at."""
        model = self.model
        first = (int(model.sensor_objtype[index]), int(model.sensor_objid[index]))
        second = (int(model.sensor_reftype[index]), int(model.sensor_refid[index]))
        numbers = [int(number) for number in model.sensor_intprm[index]]
        if tag.startswith("frame") or tag in ("insidesite", "user"):
            found = self.typed("obj", *first)
            if tag == "insidesite":
                found["site"] = self.names["site"][second[1]]
                found["enclosed"] = bool(numbers[0])
            elif tag == "user":
                stages, kinds = ("pos", "pos", "vel", "acc"), ("real", "positive", "axis", "quaternion")
                found.update(dim=int(model.sensor_dim[index]), needstage=stages[model.sensor_needstage[index]])
                found["datatype"] = kinds[model.sensor_datatype[index]]
            else:
                found.update(self.typed("ref", *second))
            return found
        if tag in ("distance", "normal", "fromto", "contact"):
            found = {**self.sided("1", *first, tag), **self.sided("2", *second, tag)}
            if tag == "contact":
                found["data"] = _words(_CONTACT_DATA, numbers[0])
                found.update(reduce=_REDUCTIONS[numbers[1]], num=numbers[2])
            return found
        found = self.sided("", *first, tag)
        if tag == "camprojection":
            found["camera"] = self.names["camera"][second[1]]
        if tag == "rangefinder":
            found["data"] = _words(_RAY_DATA, numbers[0])
        return found

    def typed(self, prefix: str, kind: int, which: int) -> dict[str, Any]:
        if which < 0 or kind not in _OBJECTS:
            return {}
        word = _OBJECTS[kind]
        family = "body" if word == "xbody" else word
        return {f"{prefix}type": word, f"{prefix}name": self.names[family][which]}

    def sided(self, side: str, kind: int, which: int, tag: str) -> dict[str, Any]:
        if which < 0 or kind not in _OBJECTS:
            return {}
        word = _OBJECTS[kind]
        family = "body" if word == "xbody" else word
        if word == "site":
            side = ""
        name = "subtree" if word == "xbody" and tag == "contact" else family
        return {f"{name}{side}": self.names[family][which]}

    def keyframe(self) -> None:
        model = self.model
        for key in range(model.nkey):
            attributes = {"name": self.names["key"][key], "time": model.key_time[key]}
            for name in ("qpos", "qvel", "act", "ctrl", "mpos", "mquat"):
                numbers = getattr(model, f"key_{name}")[key]
                attributes[name] = numbers if np.size(numbers) else None
            self.tag("key", attributes)

    def custom(self) -> None:
        model = self.model
        texts = model.names
        for index in range(model.ntext):
            start = int(model.name_textadr[index])
            name = texts[start : texts.index(b"\0", start)].decode()
            if name.startswith("carom/"):
                first, size = int(model.text_adr[index]), int(model.text_size[index])
                data = bytes(model.text_data[first : first + size]).split(b"\0")[0]
                self.tag("text", {"name": name, "data": data.decode()})


def _words(words: tuple[str, ...], bits: int) -> str:
    return " ".join(word for bit, word in enumerate(words) if bits >> bit & 1)


_SENSORS = (
    "touch accelerometer velocimeter gyro force torque magnetometer rangefinder camprojection jointpos jointvel tendonpos "
    "tendonvel actuatorpos actuatorvel actuatorfrc jointactuatorfrc tendonactuatorfrc ballquat ballangvel jointlimitpos "
    "jointlimitvel jointlimitfrc tendonlimitpos tendonlimitvel tendonlimitfrc framepos framequat framexaxis frameyaxis framezaxis "
    "framelinvel frameangvel framelinacc frameangacc subtreecom subtreelinvel subtreeangmom insidesite distance normal fromto "
    "contact e_potential e_kinetic clock tactile plugin user"
).split()
"""Sensors by MuJoCo's code."""
