# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Nova that a module talks to; the argument itself is `entry.NOVA_ARGUMENT`."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that modules share."""

    DOCUMENTATION = """
options:
  nova:
    description: The resolved Nova, as M(c5c3.nova.nova_info) returned it.
    type: dict
    required: true
"""
