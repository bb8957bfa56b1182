# SPDX-License-Identifier: Apache-2.0
"""A witness inside Nova's databases: it notes whatever becomes of a compute service or of an aggregate's hosts.

Nova's request log tells which address was called, but not whether a service was enabled or disabled by it. Triggers on
the tables themselves miss nothing, whoever did it and however.
"""

from __future__ import annotations

import dataclasses
import datetime as dt

from e2e.world import stand

_NOTES = "CREATE TABLE IF NOT EXISTS e2e_notes (at timestamptz DEFAULT clock_timestamp(), what text, host text)"
_ON_SERVICES = """
CREATE OR REPLACE FUNCTION e2e_note_service() RETURNS trigger AS $$
BEGIN
  IF OLD.disabled AND NOT NEW.disabled THEN
    INSERT INTO e2e_notes (what, host) VALUES ('enabled', NEW.host);
  END IF;
  IF NEW.disabled AND NOT OLD.disabled THEN
    INSERT INTO e2e_notes (what, host) VALUES ('disabled', NEW.host);
  END IF;
  IF OLD.deleted = 0 AND NEW.deleted <> 0 THEN
    INSERT INTO e2e_notes (what, host) VALUES ('deleted', NEW.host);
  END IF;
  RETURN NULL;
END $$ LANGUAGE plpgsql;
CREATE OR REPLACE TRIGGER e2e_note_service AFTER UPDATE ON services
  FOR EACH ROW WHEN (NEW.binary = 'nova-compute') EXECUTE FUNCTION e2e_note_service()
"""
_ON_AGGREGATES = """
CREATE OR REPLACE FUNCTION e2e_note_host() RETURNS trigger AS $$
BEGIN
  INSERT INTO e2e_notes (what, host) VALUES ('added to an aggregate', NEW.host);
  RETURN NULL;
END $$ LANGUAGE plpgsql;
CREATE OR REPLACE TRIGGER e2e_note_host AFTER INSERT ON aggregate_hosts
  FOR EACH ROW EXECUTE FUNCTION e2e_note_host()
"""
_READ = "SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), what, host FROM e2e_notes ORDER BY at"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Note:
    """What happened to a host's service or membership, and when (UTC)."""

    at: dt.datetime
    what: str
    host: str


class Witness:
    """Watches from the moment it is made; notes of earlier witnesses do not count."""

    def __init__(self, the_stand: stand.Stand) -> None:
        self._stand = the_stand
        for database, trigger in (("nova", _ON_SERVICES), ("nova_api", _ON_AGGREGATES)):
            the_stand.sql(database, f"SET client_min_messages = warning; {_NOTES}; {trigger}")
        self._before = len(self._all())

    def notes(self) -> list[Note]:
        """What has happened since, oldest first."""
        return self._all()[self._before :]

    def hosts(self, what: str) -> list[str]:
        """The hosts to which this happened, as often as it did: enabled, disabled, deleted, added to an aggregate."""
        return sorted(note.host for note in self.notes() if note.what == what)

    def _all(self) -> list[Note]:
        rows = [row.split("|") for database in ("nova", "nova_api") for row in self._stand.sql(database, _READ)]
        notes = [
            Note(at=dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC), what=what, host=host)
            for at, what, host in rows
        ]
        return sorted(notes, key=lambda note: note.at)
