#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the lab up and down. Run it with the project's environment: ``.venv/bin/python lab/lab.py up``."""

from __future__ import annotations

import sys

from novalab import cli

sys.exit(cli.main())
