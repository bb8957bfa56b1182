# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a module finds its cluster; the arguments themselves are `entry.CLUSTER_ARGUMENTS`."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that modules share."""

    DOCUMENTATION = """
options:
  kubeconfig:
    description:
      - Path of the kubeconfig that names the cluster.
      - Without it, the environment variable E(KUBECONFIG), then C(~/.kube/config), then the service account of the pod
        that the play runs in.
    type: path
  context:
    description:
      - Context of the kubeconfig, instead of its current one.
    type: str
requirements:
  - python >= 3.11
  - kubernetes >= 37.0.2
notes:
  - The module runs in the process of its task. Delegated to another machine, run as another user or in the background,
    it is an ordinary module and needs the requirements there.
"""
