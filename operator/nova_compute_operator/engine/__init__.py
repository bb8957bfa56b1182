# SPDX-License-Identifier: Apache-2.0
"""Runs a pass in a fraction of a second: forked from a process that has Ansible and the clients loaded already.

It is the same ``ansible-playbook`` under the same ansible-runner, with its events, artifacts and exit code; only what
every pass would do again before its first task, and a process for each task, are saved.

- ``engine``: starts the warm process, and is what ansible-runner is told to start playbooks with.
- ``warm``: the warm process; it forks one child for each pass.
- ``messages``: what the two say to each other.
- ``internals``: everything that reaches into private parts of Ansible or of ansible-runner.

What cannot be run warm, for whatever reason, is run by the stock program, which is slower and otherwise the same.
"""
