# A workspace with this clone, by the commands of README.md:
#     docker build --build-arg ROS_DISTRO=jazzy -t screw_dynamics_ros .
#     docker run --rm --network host --ipc host screw_dynamics_ros
# --ipc host: shared memory of the middleware, with nodes outside of the container.
ARG ROS_DISTRO=jazzy
FROM ros:${ROS_DISTRO}-ros-base
WORKDIR /workspace
COPY . src/screw_dynamics_ros
RUN apt-get update \
    && rosdep update --rosdistro "$ROS_DISTRO" \
    && rosdep install -y --ignore-src --from-paths src src/screw_dynamics_ros/screw_dynamics_msgs \
    && rm -rf /var/lib/apt/lists/*
RUN . "/opt/ros/$ROS_DISTRO/setup.sh" \
    && colcon build --base-paths src src/screw_dynamics_ros/screw_dynamics_msgs
ENTRYPOINT ["/bin/bash", "-c", ". install/setup.bash && exec \"$@\"", "--"]
CMD ["ros2", "launch", "screw_dynamics_ros", "bringup.launch.py"]
