# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to another machine, which is this one."""

from __future__ import annotations

from ansible.plugins.connection import local

DOCUMENTATION = """
name: elsewhere
short_description: Another machine, which is this one
description: For tests of what runs on another machine.
extends_documentation_fragment: [connection_pipelining]
"""


class Connection(local.Connection):  # type: ignore[misc]
    transport = "c5c3.nova.elsewhere"
