# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger that a module works on; the argument itself is `entry.LEDGER_ARGUMENT`."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that modules share."""

    DOCUMENTATION = """
options:
  ledger:
    description: The entries of the pool's ledger.
    type: list
    elements: dict
    required: true
"""
