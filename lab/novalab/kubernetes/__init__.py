# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes half of the lab: a control plane of its own, or a cluster that the user brings."""
