# SPDX-License-Identifier: Apache-2.0
"""The admission webhooks of the NovaCompute, served by a process of their own.

Passes take whole processors for seconds and the API server waits for an answer here, so the two share no interpreter.
What is right and what is wrong is judged by the rules of the collection; here are only HTTP, TLS and certificates.
"""
