# SPDX-License-Identifier: Apache-2.0
"""`kubectl novacompute`: the pools of a cluster, their nodes and their drains, for a terminal."""
