"""Poses and angle conventions; inverse kinematics in closed form and by iteration."""
