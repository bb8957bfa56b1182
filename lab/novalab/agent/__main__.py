# SPDX-License-Identifier: Apache-2.0
"""``python -m novalab.agent CONFIG.json``: the agent of all nodes of a lab, to be run in a mount namespace of its own.

Over its unix socket it takes one JSON object a connection, ``{"add": {node}}``, and answers ``{}`` or
``{"error": text}``.
"""

from __future__ import annotations

import json
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from novalab import lab
from novalab.agent import api, logserver, node, pod


class Agent:
    """All nodes of one lab."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._root = pathlib.Path(config["root"])
        self._api = api.Api(pathlib.Path(config["kubeconfig"]))
        self._nodes: dict[str, node.Node] = {}
        self._began = time.monotonic()
        self._pods = self._root / "pods"
        self._served: dict[str, bool] = {}

    def say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {time.monotonic() - self._began:8.2f} {text}", flush=True)

    def start(self) -> None:
        """Register all nodes and run their pods. Raises ApiError."""
        self._pods.mkdir(exist_ok=True)
        # Secrets of pods lie in memory, and are gone with the agent's mount namespace.
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "pods", self._pods], check=True)
        self._version = self._api.get("/version")["gitVersion"]
        for description in self._config["nodes"]:
            self.add(description)

    def add(self, description: dict[str, Any]) -> None:
        """Start a node, or register it again if it was deleted. Raises ApiError."""
        name = description["name"]
        if (known := self._nodes.get(name)) is not None:
            known.register()
            return
        place = pod.Place(
            node=name,
            address=description["address"],
            root=self._root / "nodes" / name,
            lab_root=self._root,
            pods=self._pods,
            logs=self._root / "logs" / "pods",
            image_paths=tuple(self._config["image_paths"]),
            api=self._api,
            say=self.say,
        )
        served = self._serve_logs(place)
        self._nodes[name] = node.Node(
            place=place,
            labels=description["labels"],
            version=self._version,
            log_port=logserver.PORT if served else None,
            serves=self._serves,
        )
        self._nodes[name].start()

    def _serve_logs(self, place: pod.Place) -> bool:
        if self._api.certificate is None or self._api.key is None:
            self.say(f"{place.node}: no certificate in the kubeconfig, so 'kubectl logs' does not work")
            return False
        logserver.serve(
            place.address,
            certificate=self._api.certificate,
            key=self._api.key,
            logs=place.logs,
            running=self._is_running,
        )
        return True

    def _is_running(self, namespace: str, name: str, container: str) -> bool:
        return any(one.is_running(namespace, name, container) for one in list(self._nodes.values()))

    def _serves(self, namespace: str) -> bool:
        """In a cluster of somebody else, pods of other namespaces are not run as root on this machine."""
        if not self._config["only_owned_namespaces"]:
            return True
        if namespace not in self._served:
            found = self._api.get(f"/api/v1/namespaces/{namespace}")
            self._served[namespace] = (found["metadata"].get("labels") or {}).get(lab.OWNED_LABEL) == "true"
        return self._served[namespace]

    def listen(self, path: pathlib.Path) -> None:
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            path.chmod(0o600)
            server.listen()
            while True:
                connection, _ = server.accept()
                with connection, connection.makefile("rwb") as stream:
                    stream.write(json.dumps(self._obey(stream.readline())).encode() + b"\n")

    def _obey(self, line: bytes) -> dict[str, str]:
        try:
            self.add(json.loads(line)["add"])
        except Exception as error:  # whatever it is, the person who asked shall read it
            return {"error": str(error)}
        return {}

    def shut_down(self) -> None:
        self.say("stopping")
        threads = [threading.Thread(target=one.shut_down) for one in self._nodes.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main() -> None:
    config = json.loads(pathlib.Path(sys.argv[1]).read_text())
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    agent = Agent(config)
    agent.start()
    threading.Thread(target=agent.listen, args=(pathlib.Path(config["socket"]),), daemon=True).start()
    stop.wait()
    agent.shut_down()


if __name__ == "__main__":
    main()
