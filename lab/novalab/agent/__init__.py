# SPDX-License-Identifier: Apache-2.0
"""The node agent: the kubelet of the lab's nodes.

It runs the real command lines of pods as processes, each container in namespaces of its own over an overlay of the
machine's root, with the pod's mounts, environment, users and capabilities. What a pod gets wrong therefore shows as
it would on a real node. ``python -m novalab.agent`` starts it; ``starter`` is the program that becomes a container.
"""
