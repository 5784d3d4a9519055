"""A robot in xacro: two files, arguments, a macro and an expression."""

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default=""/>
  <xacro:include filename="links.xacro"/>
  <xacro:property name="length" value="${0.5 + 0.25}"/>
  <xacro:body name="base"/>
  <xacro:body name="upper"/>
  <joint name="$(arg prefix)turn" type="continuous">
    <parent link="$(arg prefix)base"/><child link="$(arg prefix)upper"/>
    <origin xyz="0 0 ${length}"/><axis xyz="0 0 1"/>
    <limit effort="9" velocity="9"/>
  </joint>
</robot>
"""
LINKS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:macro name="body" params="name">
    <link name="$(arg prefix)${name}"><inertial><mass value="$(arg mass)"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  </xacro:macro>
</robot>
"""


def write_xacro(folder):
    """Write the files; return the path of the robot."""
    (folder / 'links.xacro').write_text(LINKS)
    path = folder / 'arm.urdf.xacro'
    path.write_text(ARM)
    return path
