# SPDX-License-Identifier: Apache-2.0
"""Makes every condition of a pool happen, against a real API server and a real Nova, one pass at a time.

A test of this folder runs no operator. It makes a cause, runs one pass as the operator would, and looks at what the
pass says and when it wants to look again; then it takes the cause away, and the next pass has to heal the pool.
"""
