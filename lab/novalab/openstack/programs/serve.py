# SPDX-License-Identifier: Apache-2.0
"""Serve one WSGI application: serve.py MODULE ADDRESS PORT.

Run by the Python of the OpenStack environment, which is not that of the lab's own command.
"""

import importlib
import sys

import waitress


def main() -> None:
    module, address, port = sys.argv[1:]
    # Nova's application reads the command line of its process as its own.
    del sys.argv[1:]
    application = importlib.import_module(module).application
    waitress.serve(application, host=address, port=int(port), threads=8, clear_untrusted_proxy_headers=True)


main()
