# SPDX-License-Identifier: Apache-2.0
"""The operator as the chart installs it: for the whole cluster, for one namespace, and in two replicas."""
