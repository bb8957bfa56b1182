# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the children of a pool go; the argument itself is `entry.TARGET_ARGUMENT`."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that modules share."""

    DOCUMENTATION = """
options:
  target:
    description:
      - Where the children of the pool go, as M(c5c3.nova.nova_info) returned it.
      - C(cluster) names the target cluster and is empty for the cluster of the pool itself, C(registered_in) is the
        namespace of the Secret that registers it, and C(namespace) that of the children.
    type: dict
    required: true
"""
