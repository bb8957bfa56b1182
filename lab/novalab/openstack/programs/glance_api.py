# SPDX-License-Identifier: Apache-2.0
"""Glance from an empty database: its schema, then its API. glance_api.py CONFIG_FOLDER ADDRESS PORT.

A forked child does what ``glance-manage db_sync`` does, because that command would import all of Glance once more.
"""

import os
import sys

import waitress
from glance.cmd import manage
from glance.common import wsgi_app  # noqa: F401 - imported before the fork, so that both sides have it


def main() -> None:
    folder, address, port = sys.argv[1:]
    child = os.fork()
    if child == 0:
        sys.argv = ["glance-manage", "--config-file", f"{folder}/glance-api.conf", "db_sync"]
        sys.exit(manage.main())
    if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit(code)
    del sys.argv[1:]
    os.environ["OS_GLANCE_CONFIG_DIR"] = folder
    from glance.wsgi import api

    waitress.serve(api.application, host=address, port=int(port), threads=4, clear_untrusted_proxy_headers=True)


main()
