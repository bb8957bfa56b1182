# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the hypervisor operator of a compute cluster (openstack-hypervisor-operator).

A pool of computes shares its nodes with that operator: it brings hosts into aggregates, applies the traits that a pool
declares, evicts servers and takes nodes out of service. This process behaves towards a pool as that one does, its
mistakes included: what it remembers in a status it never looks up again, and drift stays as it is. It knows nothing of
pools and shares no code with the product.

One module for each of its controllers: ``nodes``, ``onboarding``, ``traits``, ``aggregates``, ``maintenance``,
``eviction``, ``taint`` and ``offboarding``; each has one function ``reconcile(world, object)`` that looks at one object
once, and returns after how many seconds it wants to look again if nothing changes before. ``loop`` calls them.
"""
