"""Models with less common features, small enough that MuJoCo and carom agree to rounding."""

UNUSUAL = {
    "names_with_signs": """
<mujoco model="a &lt; b"><worldbody><body name="a &amp; &quot;b&quot; 'ü'"><joint name="j 1"/><geom size=".1"/>
  <site/></body><body pos="1 0 0"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""",
    "welds_of_sites": """
<mujoco><worldbody><site name="w" pos="0 0 1"/><body name="b" pos="0 0 1"><freejoint/><geom size=".1"/>
  <site name="s" pos=".1 0 0" euler="10 20 30"/></body><body name="c" pos="1 0 1"><freejoint/><geom size=".1"/>
  <site name="t"/></body></worldbody><equality><weld site1="w" site2="s"/><connect site1="s" site2="t"/>
  </equality></mujoco>""",
    "welds_of_bodies": """
<mujoco><worldbody><body name="b" pos="0 0 1" euler="10 0 0"><freejoint/><geom size=".1 .2 .1" type="box"/>
  </body><body name="c" pos="1 0 1"><joint type="ball" damping=".1"/><geom size=".1" pos=".1 0 0"/></body>
  </worldbody><equality><weld body1="b" body2="c" torquescale=".5" anchor=".1 .2 0"/>
  <weld body1="b" relpose="0 0 -1 1 0.1 0 0"/><connect body1="c" anchor="0 .1 0"/></equality></mujoco>""",
    "equalities_of_joints_and_tendons": """
<mujoco><worldbody><body><joint name="x"/><geom size=".1" pos=".1 0 0"/><body pos=".3 0 0">
  <joint name="y" type="slide" ref=".2"/><geom size=".1"/></body></body></worldbody><tendon><fixed name="t">
  <joint joint="x" coef="1"/><joint joint="y" coef="-2"/></fixed><fixed name="u"><joint joint="y" coef="1"/>
  </fixed></tendon><equality><joint joint1="x" joint2="y" polycoef="0.1 1 .5 .1 .2"/>
  <joint joint1="x" active="false"/><tendon tendon1="t" tendon2="u" polycoef="0 2 0 0 0"/><tendon tendon1="u"/>
  </equality></mujoco>""",
    "mocap": """
<mujoco><worldbody><body name="m" mocap="true" pos="0 0 1" euler="0 0 30">
  <geom size=".05" contype="0" conaffinity="0"/><site name="q"/><body pos=".1 0 0"><geom size=".02"/></body>
  </body><body name="b" pos="0 0 1.2"><freejoint/><geom size=".1"/></body></worldbody><equality>
  <weld body1="m" body2="b"/></equality><keyframe><key name="k" mpos="0 0 2" mquat="0 1 0 0"/></keyframe></mujoco>""",
    "ball_joints": """
<mujoco><compiler angle="degree"/><worldbody><body euler="30 0 20">
  <joint type="ball" range="0 40" limited="true" stiffness="3" damping=".2" frictionloss=".01" springdamper="0 0"/>
  <geom type="capsule" size=".05 .2" pos="0 0 .2"/><body pos="0 0 .4"><joint type="ball"/>
  <geom size=".1" pos="0 .1 0"/></body></body></worldbody></mujoco>""",
    "spring_dampers": """
<mujoco><worldbody><body><joint springdamper=".1 1" ref="20" springref="30" axis="1 1 0" pos="0 .1 0"/>
  <geom size=".1" pos=".2 0 0"/></body></worldbody></mujoco>""",
    "actuators": """
<mujoco><option integrator="implicitfast"/><worldbody><body name="b">
  <joint name="x" range="-90 90" actuatorfrcrange="-1 1"/><geom size=".1" pos=".2 0 0"/><body pos=".4 0 0">
  <joint name="y" type="ball"/><geom size=".1"/><site name="s"/></body></body><site name="ref" pos="0 0 1"/>
  </worldbody><tendon><spatial name="t" range="0 2" limited="true"><site site="s"/><site site="ref"/></spatial>
  </tendon><actuator><motor joint="x" ctrlrange="-1 1" ctrllimited="true"/>
  <position joint="x" kp="3" kv=".2" inheritrange="1"/><position joint="x" kp="3" timeconst=".1"/>
  <velocity joint="x" kv=".3"/><intvelocity joint="x" kp="2" actrange="-1 1"/>
  <damper joint="x" kv=".1" ctrlrange="0 1"/><cylinder tendon="t" area=".1" timeconst=".3" bias="1 2 3"/>
  <muscle tendon="t" lengthrange=".1 2" force="20"/>
  <general joint="y" gear="0 1 1" dyntype="filterexact" dynprm=".05" gainprm="2" biastype="affine" biasprm=".1 -1 -.2" actearly="true"/>
  <general jointinparent="y" gear="1 0 .3"/><motor site="s" gear="1 2 3 .1 .2 .3"/>
  <position site="s" refsite="ref" gear="1 0 0 0 0 1" kp="2"/>
  <general name="d" joint="x" dyntype="integrator" actlimited="true" actrange="-2 2" gainprm="1" forcelimited="true" forcerange="-.5 .5" group="2"/>
  <adhesion body="b" ctrlrange="0 1" gain="2"/></actuator></mujoco>""",
    "delays": """
<mujoco><worldbody><body name="b"><joint name="x"/><geom size=".1" pos=".2 0 0"/></body></worldbody><actuator>
  <motor joint="x" delay=".01" nsample="8" interp="linear"/></actuator><sensor>
  <jointpos joint="x" delay=".006" nsample="5" interp="cubic"/><jointvel joint="x" interval="0.01"/></sensor>
  </mujoco>""",
    "sensors": """
<mujoco><worldbody><camera name="cam" pos="0 -2 1" xyaxes="1 0 0 0 0 1" resolution="64 48"/>
  <geom name="floor" type="plane" size="1 1 .1"/><site name="box" type="box" size=".5 .5 .5" pos="0 0 .3"/>
  <body name="a" pos="0 0 .1"><freejoint/><geom name="g" type="box" size=".1 .1 .1"/>
  <site name="s" size=".2" pos=".05 0 0" euler="10 20 30"/><body name="c" pos="0 0 .2">
  <joint name="j" range="-10 10" limited="true"/><geom name="h" type="capsule" size=".03 .1"/>
  <body pos="0 0 .2" name="e"><joint name="bl" type="ball" limited="true" range="0 20"/>
  <geom size=".05" name="ge"/></body></body></body></worldbody><tendon>
  <fixed name="t" limited="true" range="-.1 .1"><joint joint="j" coef="1"/></fixed></tendon><actuator>
  <motor name="m" joint="j"/><motor name="mt" tendon="t"/></actuator><sensor><touch site="s"/>
  <accelerometer site="s"/><velocimeter site="s"/><gyro site="s"/><force site="s"/><torque site="s"/>
  <magnetometer site="s"/><rangefinder site="s" data="dist normal"/><camprojection site="s" camera="cam"/>
  <jointpos joint="j"/><jointvel joint="j"/><tendonpos tendon="t"/><tendonvel tendon="t"/>
  <actuatorpos actuator="m"/><actuatorvel actuator="m"/><actuatorfrc actuator="m"/><jointactuatorfrc joint="j"/>
  <tendonactuatorfrc tendon="t"/><ballquat joint="bl"/><ballangvel joint="bl"/><jointlimitpos joint="j"/>
  <jointlimitvel joint="j"/><jointlimitfrc joint="j"/><tendonlimitpos tendon="t"/><tendonlimitvel tendon="t"/>
  <tendonlimitfrc tendon="t"/><framepos objtype="geom" objname="g" reftype="body" refname="c"/>
  <framequat objtype="xbody" objname="c"/><framexaxis objtype="site" objname="s"/>
  <frameyaxis objtype="camera" objname="cam"/><framezaxis objtype="body" objname="a"/>
  <framelinvel objtype="body" objname="e" reftype="site" refname="s"/><frameangvel objtype="xbody" objname="e"/>
  <framelinacc objtype="site" objname="s"/><frameangacc objtype="geom" objname="h"/><subtreecom body="a"/>
  <subtreelinvel body="a"/><subtreeangmom body="a"/><insidesite site="box" objtype="geom" objname="g"/>
  <distance geom1="floor" body2="e" cutoff="1"/><normal geom1="g" geom2="ge" cutoff="1"/>
  <fromto geom1="floor" geom2="ge" cutoff="2"/>
  <contact geom1="floor" num="2" data="found force pos normal" reduce="mindist"/>
  <contact subtree1="a" body2="world"/><contact site="s" data="force" reduce="netforce"/><e_potential/>
  <e_kinetic/><clock/><user dim="2" needstage="vel"/></sensor></mujoco>""",
    "wrapped_tendons": """
<mujoco><worldbody><site name="a" pos="0 0 1"/>
  <geom name="cyl" type="cylinder" size=".1 .3" pos=".3 0 .5" euler="90 0 0" contype="0" conaffinity="0"/>
  <site name="side" pos=".3 0 .7"/><geom name="sph" size=".12" pos="-.3 0 .5" contype="0" conaffinity="0"/>
  <site name="in" pos="-.3 0 .5" /><body pos=".6 0 0"><joint type="slide" axis="0 0 1" name="z"/>
  <geom size=".05"/><site name="b"/></body><body pos="-.6 0 0"><joint type="slide" axis="0 0 1"/>
  <geom size=".05"/><site name="c"/></body></worldbody><tendon>
  <spatial name="t" stiffness="30" damping="1" springlength=".2 .3" frictionloss=".1" limited="true" range="0 1.2" margin=".01" solreflimit=".01 1">
  <site site="a"/><geom geom="cyl" sidesite="side"/><site site="b"/><pulley divisor="2"/><site site="a"/>
  <geom geom="sph" sidesite="in"/><site site="c"/></spatial>
  <spatial name="u" actuatorfrcrange="-1 1" actuatorfrclimited="true"><site site="b"/><site site="c"/></spatial>
  </tendon><actuator><motor tendon="u"/></actuator></mujoco>""",
    "contacts": """
<mujoco><option cone="elliptic" impratio="3" noslip_iterations="3"/><worldbody>
  <geom name="f" type="plane" size="2 2 .1" condim="6" friction=".5 .01 .001" solref="-1000 -20"/>
  <body pos="0 0 .09"><freejoint/>
  <geom name="a" type="box" size=".1 .1 .1" condim="4" priority="1" solmix="2" margin=".01" gap=".005"/></body>
  <body pos=".5 0 .09"><freejoint/><geom name="b" size=".1" condim="1"/></body><body pos="1 0 .1" name="n">
  <freejoint/><geom name="c" type="ellipsoid" size=".1 .15 .12" contype="2" conaffinity="2"/></body>
  <body pos="-1 0 .09" name="e"><freejoint/><geom type="cylinder" size=".1 .1"/></body></worldbody><contact>
  <pair geom1="f" geom2="c" friction=".3 .2 .01 .001 .002" solreffriction=".05 1" condim="6" margin=".02" gap=".01"/>
  <exclude body1="world" body2="e"/></contact></mujoco>""",
    "fluid": """
<mujoco><option density="1000" viscosity=".01" wind="1 .5 0" integrator="implicit"/><worldbody>
  <body pos="0 0 1"><freejoint/>
  <geom type="ellipsoid" size=".2 .1 .05" fluidshape="ellipsoid" fluidcoef=".4 .3 1.2 1 .9"/></body>
  <body pos="1 0 1"><freejoint/><geom type="box" size=".2 .1 .05"/></body></worldbody></mujoco>""",
    "gravity_compensation": """
<mujoco><worldbody><body gravcomp=".7"><joint name="x" actuatorgravcomp="true" actuatorfrcrange="-1 1"/>
  <geom size=".1" pos=".2 0 0"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>""",
    "runge_kutta": """
<mujoco><option integrator="RK4" gravity="1 2 -3">
  <flag warmstart="disable" refsafe="disable" eulerdamp="disable" filterparent="disable"/></option><worldbody>
  <geom type="plane" size="1 1 1" pos="0 0 -.5"/><body><joint/><geom size=".1" pos=".1 0 0"/><body pos=".2 0 0">
  <joint axis="1 0 0"/><geom size=".1" pos=".1 0 0"/></body></body></worldbody></mujoco>""",
    "flags": """
<mujoco><option>
  <flag gravity="disable" spring="disable" damper="disable" clampctrl="disable" limit="disable" frictionloss="disable"/>
  </option><worldbody><body>
  <joint name="x" range="-1 1" limited="true" stiffness="1" damping="1" frictionloss="1"/>
  <geom size=".1" pos=".1 0 0"/></body></worldbody><actuator>
  <motor joint="x" ctrlrange="-.1 .1" ctrllimited="true"/></actuator></mujoco>""",
    "groups_of_actuators": """
<mujoco><option actuatorgroupdisable="1 3"/><worldbody><body><joint name="x"/><geom size=".1" pos=".1 0 0"/>
  </body></worldbody><actuator><motor joint="x" group="1"/><motor joint="x" group="2"/></actuator></mujoco>""",
    "override": """
<mujoco><option o_margin=".02" o_solref=".03 1" o_solimp=".8 .9 .01 .5 2" o_friction=".3 .3 .01 .001 .001">
  <flag override="enable"/></option><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .1"><freejoint/>
  <geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>""",
    "diagexact": """
<mujoco><option><flag diagexact="enable"/></option><worldbody><geom type="plane" size="1 1 .1"/>
  <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>""",
    "nothing": """
<mujoco/>""",
    "nothing_moves": """
<mujoco><worldbody><geom size=".1"/><body pos="1 0 0"><geom size=".1"/><body pos="1 0 0"><site/></body></body>
  </worldbody></mujoco>""",
    "bodies_without_mass": """
<mujoco><worldbody><body><body pos="0 0 .1"><joint axis="1 0 0"/><joint axis="0 1 0"/>
  <geom size=".1" pos=".1 0 0"/><body pos="0 0 .1" name="frame"/></body></body></worldbody></mujoco>""",
    "inertials": """
<mujoco><compiler balanceinertia="true" boundmass=".1" boundinertia=".001" settotalmass="5"/><worldbody><body>
  <inertial pos=".1 0 0" mass="1" fullinertia=".1 .2 .25 .01 .02 .03"/><freejoint align="true"/>
  <geom type="box" size=".1 .2 .3" mass="0"/></body><body pos="3 0 0"><freejoint align="true"/>
  <geom type="box" size=".1 .2 .3" pos=".1 0 0" euler="10 20 30"/></body></worldbody></mujoco>""",
    "mesh": """
<mujoco><asset>
  <mesh name="m" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2 .1 .1 .1" scale="1 2 1" refpos=".1 0 0" refquat="1 .1 0 0"/>
  <mesh name="shell" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2" inertia="shell"/></asset><worldbody>
  <geom type="plane" size="1 1 1"/><body pos="0 0 .05"><freejoint/><geom type="mesh" mesh="m"/></body>
  <body pos="1 0 .05"><freejoint/><geom type="mesh" mesh="shell" mass="1"/></body><body pos="-1 0 .3"><freejoint/>
  <geom type="box" mesh="m"/></body></worldbody></mujoco>""",
    "hfield": """
<mujoco><asset>
  <hfield name="h" nrow="4" ncol="5" size="1 1 .2 .1" elevation="0 .1 .2 .3 .4 0 0 .5 .2 .1 .3 .1 .2 .3 .5 .1 .2 .3 .1 0"/>
  </asset><worldbody><geom type="hfield" hfield="h"/><body pos=".1 .05 .25"><freejoint/><geom size=".1"/></body>
  <body pos="-.4 .05 .25"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>""",
    "adhesion": """
<mujoco><worldbody><geom type="plane" size="1 1 1" surfacevel=".1 0 0 0 0 .2" adhesion="2"/>
  <body name="b" pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody><actuator>
  <adhesion body="b" ctrlrange="0 2" gain="3"/></actuator></mujoco>""",
    "keyframes": """
<mujoco><worldbody><body><joint name="x"/><geom size=".1" pos=".1 0 0"/></body></worldbody><actuator>
  <intvelocity joint="x"/></actuator><keyframe><key time="3" qpos="1" qvel="2" act=".3" ctrl=".4"/>
  <key name="second"/></keyframe></mujoco>""",
    "cameras": """
<mujoco><worldbody><body name="b"><joint/><geom size=".1" pos=".1 0 0"/><camera mode="trackcom" pos="0 0 1"/>
  <camera mode="targetbody" target="b" pos="1 0 0"/>
  <camera focal=".01 .01" sensorsize=".02 .02" resolution="10 10" principal="0.001 0"/>
  <camera projection="orthographic" fovy="2"/><light mode="track"/></body></worldbody></mujoco>""",
    "solver_pgs": """
<mujoco><option solver="PGS" iterations="50"/><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .1">
  <freejoint/><geom size=".1"/></body></worldbody></mujoco>""",
    "solver_cg": """
<mujoco><option solver="CG" jacobian="sparse"/><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .1">
  <freejoint/><geom size=".1"/></body></worldbody></mujoco>""",
    "polynomial_springs": """
<mujoco><worldbody><body><joint stiffness="1 2 3" damping=".1 .2 .3"/><geom size=".1" pos=".1 0 0"/></body>
  </worldbody></mujoco>""",
    "damping_of_actuators": """
<mujoco><worldbody><body><joint name="x"/><geom size=".1" pos=".1 0 0"/></body></worldbody><actuator>
  <motor joint="x" damping=".1 .2 .3" armature=".1"/></actuator></mujoco>""",
    "slider_crank": """
<mujoco><worldbody><body><joint name="x"/><geom size=".1" pos=".1 0 0"/><site name="c" pos=".1 0 0"/></body>
  <site name="s" pos="0 0 .5" zaxis="1 0 0"/></worldbody><actuator>
  <motor cranksite="c" slidersite="s" cranklength=".8"/></actuator></mujoco>""",
    "custom_numbers": """
<mujoco><custom><numeric name="n" data="1 2"/><text name="t" data="abc"/></custom><size nuserdata="5"/>
  <worldbody><body><joint user="1 2"/><geom size=".1" pos=".1 0 0"/></body></worldbody></mujoco>""",
    "replicas": """
<mujoco><worldbody><geom type="plane" size="1 1 1"/><replicate count="3" offset=".3 0 0" euler="0 0 10">
  <body pos="0 0 .1"><freejoint/><geom type="capsule" size=".05 .1" euler="90 0 0"/></body></replicate>
  </worldbody></mujoco>""",
    "user_dynamics": """
<mujoco><worldbody><body><joint name="x"/><geom size=".1" pos=".1 0 0"/></body></worldbody><actuator>
  <general joint="x" dyntype="user" actdim="2" gaintype="user" biastype="user"/></actuator></mujoco>""",
    "muscles_of_joints": """
<mujoco><worldbody><body><joint name="x" range="-40 40" limited="true"/><geom size=".1" pos=".1 0 0"/></body>
  </worldbody><actuator><muscle joint="x" gear=".1"/><muscle joint="x" gear="-.1" tausmooth=".1"/></actuator>
  </mujoco>""",
}
"""Texts by what is unusual in them."""
