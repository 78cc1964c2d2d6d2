"""Times gradients by differences in Tiny Differentiable Simulator's wheel, one JSON line per request on standard input.

The wheel has plain numbers only: its dual numbers and tapes are compiled into programs of their own and do not ship. What a user
of the wheel can do for a gradient is differences around loops in Python, and that is what is timed here: centred, of the last
angle by all initial angles and speeds. A request is {"links": n, "steps": n, "timestep": s, "angles": [...], "ground": bool}.
The answer has the CPU time of one gradient in microseconds.
"""

import os
import tempfile
import time

import pytinydiffsim as tds

import peer

LINK = """  <link name="link{0}">
    <inertial><origin rpy="0 0 0" xyz="0 0.5 0"/><mass value="1"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial>
    <collision><origin rpy="0 0 0" xyz="0 0.5 0"/><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <joint name="joint{0}" type="continuous"><parent link="{1}"/><child link="link{0}"/>
    <origin rpy="0 0 0" xyz="0 {2} 0"/><axis xyz="1 0 0"/></joint>
"""
PLANE = """<robot name="plane"><link name="planeLink">
  <inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>
  <collision><origin rpy="0 0 0" xyz="0 0 -0.6"/><geometry><plane normal="0 0 1"/></geometry></collision></link></robot>
"""


def load(text, world, floating):
    """A multibody of the text of a URDF."""
    with tempfile.NamedTemporaryFile("w", suffix=".urdf", delete=False) as file:
        file.write(text)
    try:
        description = tds.TinyUrdfParser().load_urdf(file.name, False)
    finally:
        os.unlink(file.name)
    body = tds.TinyMultiBody(floating)
    tds.UrdfToMultiBody2().convert2(description, world, body)
    return body


class Case:
    """A chain of links, over a plane or without."""

    def __init__(self, request):
        self.steps, self.step, self.angles = request["steps"], request["timestep"], request["angles"]
        self.world = tds.TinyWorld()
        links = "".join(
            LINK.format(link, f"link{link - 1}" if link else "world", 0.5 if link else 0)
            for link in range(request["links"])
        )
        self.chain = load(f'<robot name="chain"><link name="world"/>\n{links}</robot>', self.world, False)
        self.plane = load(PLANE, self.world, False) if request["ground"] else None
        self.solver = tds.TinyMultiBodyConstraintSolver()

    def follow(self, start):
        """The last angle after all steps."""
        chain, links = self.chain, len(self.angles)
        chain.q = tds.VectorX(chain.q.size())
        chain.qd = tds.VectorX(chain.qd.size())
        for link in range(links):
            chain.q[link], chain.qd[link] = start[link], start[links + link]
        gravity = tds.Vector3(0.0, 0.0, -9.81)
        for _ in range(self.steps):
            tds.forward_kinematics(chain, chain.q, chain.qd)
            tds.forward_dynamics(chain, gravity)
            if self.plane is None:
                tds.integrate_euler(chain, self.step)
                continue
            tds.integrate_euler_qdd(chain, self.step)
            dispatcher = self.world.get_collision_dispatcher()
            for contacts in self.world.compute_contacts_multi_body([self.plane, chain], dispatcher):
                self.solver.resolve_collision(contacts, self.step)
            tds.integrate_euler(chain, self.step)
        return chain.q[links - 1]

    def measure(self):
        start = [*self.angles, *[0.0] * len(self.angles)]
        begin = time.process_time()
        self.gradient = []
        for place in range(len(start)):
            ends = []
            for change in (1e-6, -1e-6):
                moved = list(start)
                moved[place] += change
                ends.append(self.follow(moved))
            self.gradient.append((ends[0] - ends[1]) / 2e-6)
        return {"microseconds": (time.process_time() - begin) * 1e6, "contacts": 0, "gradient": self.gradient}


if __name__ == "__main__":
    peer.serve(Case)
