# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool that a module is about; the argument itself is `entry.POOL_ARGUMENT`."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that modules share."""

    DOCUMENTATION = """
options:
  pool:
    description: The whole NovaCompute object.
    type: dict
    required: true
"""
