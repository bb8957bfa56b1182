# SPDX-License-Identifier: Apache-2.0
"""Keystone from an empty database, in one process: keystone_setup.py CONFIG_FILE, the wish as JSON on standard input.

Schema, keys, bootstrap, users and catalog take 1.3 s so; keystone-manage and the API would take ten times as long.
The wish: ``{"region", "admin_password", "project", "users": {name: password}, "roles": [...],
"catalog": [{"type", "name", "public", "internal", "admin"}]}``. It holds passwords, hence no argument.
"""

import json
import sys
import uuid
from typing import Any

import keystone.conf
from keystone.cmd import bootstrap
from keystone.common import fernet_utils, provider_api, sql
from keystone.common.sql import upgrades

CONF = keystone.conf.CONF
PROVIDERS = provider_api.ProviderAPIs


def main() -> None:
    # Read first: the parent sends the wish when the database is there, and the imports above are done by then.
    wish = json.load(sys.stdin)
    keystone.conf.configure()
    sql.initialize()
    keystone.conf.set_default_for_default_log_levels()
    CONF([], project="keystone", default_config_files=[sys.argv[1]])
    keystone.conf.setup_logging()
    upgrades.offline_sync_database_to_version()
    create_keys()
    create_admin(wish)
    create_users(wish)
    create_catalog(wish)


def create_keys() -> None:
    """Make the two key repositories, as ``fernet_setup`` and ``credential_setup`` do."""
    for section, most in (("fernet_tokens", CONF.fernet_tokens.max_active_keys), ("credential", 3)):
        repository = fernet_utils.FernetUtils(CONF[section].key_repository, most, section)
        repository.create_key_directory(None, None)
        if repository.validate_key_repository(requires_write=True):
            repository.initialize_key_repository(None, None)


def create_admin(wish: dict[str, Any]) -> None:
    """Make the domain Default, the project and user admin, and the roles, as ``bootstrap`` does."""
    bootstrapper = bootstrap.Bootstrapper()
    bootstrapper.admin_username = bootstrapper.project_name = bootstrapper.admin_role_name = "admin"
    bootstrapper.admin_password = wish["admin_password"]
    bootstrapper.region_id = wish["region"]
    bootstrapper.bootstrap()


def create_users(wish: dict[str, Any]) -> None:
    """Make the project of the service users, and the users with their roles on it."""
    domain = CONF.identity.default_domain_id
    project = {"id": uuid.uuid4().hex, "name": wish["project"], "domain_id": domain, "enabled": True}
    PROVIDERS.resource_api.create_project(project["id"], project)
    roles = {role["name"]: role["id"] for role in PROVIDERS.role_api.list_roles()}
    for name, password in wish["users"].items():
        user = PROVIDERS.identity_api.create_user(
            {
                "name": name,
                "domain_id": domain,
                "password": password,
                "enabled": True,
                "default_project_id": project["id"],
            }
        )
        for role in wish["roles"]:
            PROVIDERS.assignment_api.add_role_to_user_and_project(user["id"], project["id"], roles[role])


def create_catalog(wish: dict[str, Any]) -> None:
    """Make the rows of the catalog in the wish's region."""
    for row in wish["catalog"]:
        service = {"id": uuid.uuid4().hex, "type": row["type"], "name": row["name"], "enabled": True}
        PROVIDERS.catalog_api.create_service(service["id"], service)
        for interface in ("public", "internal", "admin"):
            endpoint = {
                "id": uuid.uuid4().hex,
                "service_id": service["id"],
                "interface": interface,
                "region_id": wish["region"],
                "url": row[interface],
                "enabled": True,
            }
            PROVIDERS.catalog_api.create_endpoint(endpoint["id"], endpoint)


main()
