# SPDX-License-Identifier: Apache-2.0
"""What a demo or an end-to-end test sees and touches: the lab, its Kubernetes, its Nova, and the operator."""
