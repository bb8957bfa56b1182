# SPDX-License-Identifier: Apache-2.0
"""Which tolerations keep a pod on a node that openstack-hypervisor-operator takes out of service, kind by kind.

The node has the taint kvm.cloud.sap/offboarding:NoExecute, without a value. A pod stays when one toleration, read as it
is written, matches it and has no tolerationSeconds; the operator waits until no such pod is left. Source: its
``podToleratesTaint``, and ``Toleration.ToleratesTaint`` of Kubernetes with the comparison operators off.

A test that holds the product to a row carries ``@pytest.mark.toleration(row)``.
"""

from __future__ import annotations

from collections.abc import Mapping

#: A kind of toleration to whether a pod with it stays, which is why a pool with it is refused.
ROWS: Mapping[str, bool] = {
    "key equal, Exists, effect NoExecute or empty, any value": True,
    "key empty, Exists, effect NoExecute or empty": True,
    "key equal, Equal or no operator, no value": True,
    "key equal, Equal or no operator, a value": False,
    # The API server takes no such pod, but the match does not ask for that.
    "key empty, Equal or no operator, no value": True,
    "key empty, Equal or no operator, a value": False,
    "another key, any operator": False,
    "effect NoSchedule, PreferNoSchedule or unknown": False,
    "operator Lt, Gt or unknown": False,
    "matching, with tolerationSeconds": False,
    "two matching, one of them with tolerationSeconds": True,
}
