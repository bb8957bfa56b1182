# SPDX-License-Identifier: Apache-2.0
"""The wrapper: it decides when a pass over a pool runs, and nothing else.

What a pass does is the playbook's business. Nothing here reads a pool's spec to decide what the pool should look
like; it only looks for what says that a look is due.
"""
