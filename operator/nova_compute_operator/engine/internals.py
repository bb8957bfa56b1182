# SPDX-License-Identifier: Apache-2.0
"""Everything of the engine that reaches into private parts of Ansible or of ansible-runner, and nothing else.

None of it is promised to stay as it is, so :func:`unsupported` names the versions it was tried with; with any other
one, passes run the plain way. What is reached into, and why:

- what loads and configures plugins, so that a warm process has found and imported them before the first pass;
- the name by which the strategies of Ansible know their worker process, so that a task of the one host of a pass runs
  in the pass's own process (`InlineWorker`), and what they do with a result, so that it is done at once (`_delivery`);
- the compilation of templates, the parsing of YAML files and of playbooks, and the search for plug-ins, so that a pass
  finds done what others did (`Caches`);
- the variables that each template is given, so that they are neither copied nor wrapped anew for each
  (`_share_variables_with_templates`, `_wrap_variables_once`);
- settings that Ansible reads once, when it is imported, and that differ between passes (`_settle`);
- the name by which ansible-runner knows what starts a program (`start_playbooks_with`).
"""

# ruff: noqa: SLF001 - that is what it is for

from __future__ import annotations

import collections
import copy
import dataclasses
import importlib
import importlib.metadata
import marshal
import operator
import os
import pathlib
import pickle
import random
import secrets
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing import reduction
from typing import Any, ClassVar, Final

TRIED: Final[Mapping[str, str]] = {"ansible-core": "2.19", "ansible-runner": "2.4"}
"""The releases that this module knows, by distribution: every patch release of them."""

COLLECTION: Final = "c5c3.nova"

PER_RUN: Final[Mapping[str, str | None]] = {
    "ANSIBLE_HOME": "ANSIBLE_HOME",
    "ANSIBLE_LOCAL_TEMP": "DEFAULT_LOCAL_TMP",
    "ANSIBLE_CACHE_PLUGIN_CONNECTION": "CACHE_PLUGIN_CONNECTION",
    "ANSIBLE_REMOTE_TEMP": None,
}
"""The settings that may differ between the runs of one warm process: environment variable to the constant that Ansible
made of it, None where it reads the variable when it needs it."""

# More templates than a playbook has, and more names of plug-ins; a bound for one that makes up new ones in each pass.
_MOST: Final = 5000

# Below this many it costs less to wrap variables anew. A task has its variables in few mappings.
_MANY_VARIABLES: Final = 16
_MAPPINGS_KEPT: Final = 8


def unsupported() -> str:
    """Why this installation cannot run passes warm; empty when it can."""
    for distribution, release in TRIED.items():
        try:
            found = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            return f"{distribution} is not installed"
        if not found.startswith(f"{release}."):
            return f"{distribution} is {found}, and the engine knows {release}"
    return ""


# --- in the operator


def start_playbooks_with(spawn: Callable[..., Any]) -> None:
    """Have ansible-runner start programs with ``spawn``, which takes what ``pexpect.spawn`` takes."""
    import pexpect
    from ansible_runner import runner

    runner.pexpect = types.SimpleNamespace(
        spawn=spawn, EOF=pexpect.EOF, TIMEOUT=pexpect.TIMEOUT, exceptions=pexpect.exceptions
    )


# --- in the warm process


def preload(project: pathlib.Path) -> Caches:
    """Import and find what every run needs; returns the caches of the runs of playbooks below ``project``."""
    sys.argv = ["ansible-playbook"]
    importlib.import_module("ansible.cli.playbook")
    from ansible.plugins import loader

    loader.init_plugin_loader([])
    # Each run configures the collections once more, as the program does, and finds that it is done.
    warnings.filterwarnings("ignore", message="AnsibleCollectionFinder has already been configured")
    for kind in ("connection", "shell", "become", "inventory", "vars", "cache", "strategy"):
        list(getattr(loader, f"{kind}_loader").all(class_only=True))
    # Not found by their loader, which would import that of ansible-runner too: it notes whose run it was imported in.
    for name in _names("ansible.plugins.callback"):
        module = importlib.import_module(f"ansible.plugins.callback.{name}")
        loader.callback_loader._load_config_defs(name, module, module.__file__)
    for name in ("set_fact", "set_stats", "debug", "assert", "fail", "include_tasks", "normal", "gather_facts"):
        loader.action_loader.get(f"ansible.builtin.{name}", class_only=True)
    for name in ("template", "file", "env"):
        loader.lookup_loader.get(f"ansible.builtin.{name}", class_only=True)
    _import_collection()
    _find_filters()
    _share_variables_with_templates()
    _wrap_variables_once()
    _run_tasks_inline()
    caches = Caches(project)
    caches.install()
    return caches


def _import_collection() -> None:
    """Import the plug-ins of the collection with the clients they use. None of them talks when it is imported."""
    from ansible.plugins import loader

    for kind in ("callback", "inventory"):
        for name in _names(f"ansible_collections.{COLLECTION}.plugins.{kind}"):
            getattr(loader, f"{kind}_loader").get(f"{COLLECTION}.{name}", class_only=True)
    loader.action_loader.get(f"{COLLECTION}.in_process", class_only=True)
    for name in _names(f"ansible_collections.{COLLECTION}.plugins.modules"):
        importlib.import_module(f"ansible_collections.{COLLECTION}.plugins.modules.{name}")
        loader.action_loader.get(f"{COLLECTION}.{name}", class_only=True)


def _find_filters() -> None:
    """Find every filter and test once: one that Ansible has not in a file of its own is looked for with each use."""
    from ansible._internal._templating import _jinja_bits
    from ansible.plugins import loader

    own: list[str] = []
    for name in _names(f"ansible_collections.{COLLECTION}.plugins.filter"):
        module = importlib.import_module(f"ansible_collections.{COLLECTION}.plugins.filter.{name}")
        own += (f"{COLLECTION}.{name}" for name in module.FilterModule().filters())
    for found, builtin, more in (
        (loader.filter_loader, _jinja_bits._BUILTIN_FILTERS, own),
        (loader.test_loader, _jinja_bits._BUILTIN_TESTS, []),
    ):
        # Those of Ansible, which go before those of Jinja.
        list(found.all())
        kept = found._cached_non_collection_wrappers
        for name in builtin:
            # What is looked for and not found is Jinja's.
            kept.setdefault(name, loader._DeferredPluginLoadFailure(KeyError(name)))
        for name in more:
            kept.setdefault(name, found.get(name))


def _share_variables_with_templates() -> None:
    """Have the lookup of a template take the variables as they are. It would copy every value of all of them.

    It adds variables of its own, which nobody else may see; a template gets each value in a container of its own.
    """
    from ansible.plugins import loader

    found = loader.lookup_loader.get("ansible.builtin.template", class_only=True)
    setattr(sys.modules[found.__module__], "deepcopy", copy.copy)  # noqa: B010 - mypy knows of no such module


def _wrap_variables_once() -> None:
    """Have a mapping of variables wrapped once: each template, however small, wraps every value that it might look up.

    A wrapper never changes. The mapping may, and counts as the same only with the very same names and values in it.
    """
    from ansible._internal._templating import _lazy_containers

    stock = _lazy_containers._AnsibleLazyTemplateDict._lazy_values
    wrapped: collections.OrderedDict[int, tuple[list[Any], list[Any], list[Any]]] = collections.OrderedDict()

    def lazy_values(values: dict[Any, Any], lazy_options: Any) -> Any:
        if len(values) < _MANY_VARIABLES:
            return stock(values, lazy_options)
        names, raw = list(values), list(values.values())
        kept = wrapped.get(id(values))
        if kept is None or not (_same(names, kept[0]) and _same(raw, kept[1])):
            kept = (names, raw, [_lazy_containers._LazyValue(value) for value in raw])
            wrapped[id(values)] = kept
            if len(wrapped) > _MAPPINGS_KEPT:
                wrapped.popitem(last=False)
        made = stock({}, lazy_options)
        return dataclasses.replace(made, source=zip(names, kept[2], strict=True))

    _lazy_containers._AnsibleLazyTemplateDict._lazy_values = staticmethod(lazy_values)


def _same(one: list[Any], other: list[Any]) -> bool:
    """Whether both hold the very same objects in the same order."""
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _names(package: str) -> list[str]:
    """The names of the modules in a package; none where there is no such package."""
    try:
        folders = importlib.import_module(package).__path__
    except ModuleNotFoundError:
        return []
    return sorted(file.stem for folder in folders for file in pathlib.Path(folder).glob("[a-z]*.py"))


# --- in a run


def run_playbook(arguments: Sequence[str]) -> None:
    """Be ``ansible-playbook`` with these arguments; its own name comes first. Ends as a program does."""
    from ansible.cli import playbook

    _settle()
    sys.argv = list(arguments)
    playbook.PlaybookCLI.cli_executor(sys.argv)


def _settle() -> None:
    """Make of the inherited Ansible one that was started with this process's environment."""
    from ansible import constants
    from ansible.utils import display
    from ansible.utils import vars as variables

    tempfile.tempdir = None
    for name in filter(None, PER_RUN.values()):
        setattr(constants, name, constants.config.get_config_value(name))
    # Else the ids of this run's tasks would be those of all others.
    random.seed()
    variables.random_int = f"{secrets.randbelow(2**32):08x}"
    shown = display.Display()
    for already_said in (shown._warns, shown._deprecations, shown._errors):
        already_said.clear()


# --- tasks without a process of their own


def _run_tasks_inline() -> None:
    from ansible.executor.process import worker
    from ansible.plugins import strategy

    stock = strategy.StrategyBase.__init__

    def init(made: Any, *arguments: Any, **keywords: Any) -> None:
        stock(made, *arguments, **keywords)
        made._final_q.delivery = _delivery(made)

    def make(**given: Any) -> Any:
        hosts = given["task_vars"].get("ansible_play_hosts_all") or ()
        alone = len(hosts) <= 1 and not given["task"].async_val
        return InlineWorker(**given) if alone else worker.WorkerProcess(**given)

    strategy.StrategyBase.__init__ = init
    strategy.WorkerProcess = make


def _delivery(strategy: Any) -> Any:
    """A queue for the tasks of this process: what is put there is dealt with at once, as the strategy's thread would.

    It is pickled all the same, so that what a task says is what it would have said from a process of its own.
    """
    from ansible.executor import task_queue_manager
    from ansible.plugins import strategy as strategies

    class Delivery(task_queue_manager.FinalQueue):  # type: ignore[misc]
        def __init__(self) -> None:
            """Have none of the pipes of a queue."""

        def put(self, message: Any) -> None:
            messages = [strategies._sentinel, pickle.loads(reduction.ForkingPickler.dumps(message))]  # noqa: S301
            one = types.SimpleNamespace(get=messages.pop)
            names = ("_results", "_results_lock", "_tqm", "_workers", "_convert_wire_task_result_to_raw")
            strategies.results_thread_main(
                types.SimpleNamespace(_final_q=one, **{name: getattr(strategy, name) for name in names})
            )

    return Delivery()


class InlineWorker:
    """Stands where the strategy expects a worker process: ``start`` runs the task, and returns when it is done.

    What a process of its own would keep from the play is kept from it here: the task's changes to its own description,
    to the environment, the working folder and the file mode mask.
    """

    #: What the strategy asks of a process: this one has always ended well.
    pid: ClassVar[None] = None
    exitcode: ClassVar[int] = 0

    def __init__(
        self,
        *,
        final_q: Any,
        task_vars: Any,
        host: Any,
        task: Any,
        play_context: Any,
        loader: Any,
        variable_manager: Any,
        shared_loader_obj: Any,
        worker_id: int,  # noqa: ARG002 - the strategy gives it
        cliargs: Any,  # noqa: ARG002
    ) -> None:
        self._queue = final_q = final_q.delivery
        self._host = host
        self._task = task.copy(exclude_parent=True, exclude_tasks=True)
        self._task._parent = task._parent
        self._loader = loader
        self._rest = (task_vars, play_context, loader, shared_loader_obj, final_q, variable_manager)

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return False

    def close(self) -> None:
        """Do nothing: there is nothing to let go."""

    def terminate(self) -> None:
        """Do nothing: it has ended."""

    def start(self) -> None:
        """Run the task and hand its result to the strategy."""
        from ansible._internal import _task
        from ansible.executor import task_executor

        kept, self._loader._tempfiles = self._loader._tempfiles, set()
        before = _Surroundings()
        try:
            with _task.TaskContext(self._task):
                result = task_executor.TaskExecutor(self._host, self._task, *self._rest).run()
        except SystemExit as end:
            result = {"failed": True, "msg": f"The action ended its process with {end.code}"}
        finally:
            self._loader.cleanup_all_tmp_files()
            self._loader._tempfiles = kept
            before.restore(self._task.action)
        self._hand_over(result)

    def _hand_over(self, result: Mapping[str, Any]) -> None:
        from ansible._internal._errors import _error_utils
        from ansible.errors import AnsibleError
        from ansible.executor import task_result

        def raw(data: Mapping[str, Any], fields: Mapping[str, Any]) -> Any:
            return task_result._RawTaskResult(host=self._host, task=self._task, return_data=data, task_fields=fields)

        try:
            self._queue.send_task_result(raw(result, self._task.dump_attrs()))
        except Exception as reason:  # noqa: BLE001 - whatever cannot be sent; the strategy waits for some result
            error = AnsibleError("Task result omitted due to queue send failure.")
            error.__cause__ = reason
            self._queue.send_task_result(raw(_error_utils.result_dict_from_exception(error), {}))


class _Surroundings:
    """What a process has and a task may change."""

    def __init__(self) -> None:
        # As the bytes that they are kept as: each name and value would be decoded, before and after each task.
        self._environment = os.environ._data.copy()  # type: ignore[attr-defined]
        self._folder = pathlib.Path.cwd()
        self._mask = os.umask(0o077)
        os.umask(self._mask)

    def restore(self, action: str) -> None:
        from ansible.utils import display

        changed = []
        if os.environ._data != self._environment:  # type: ignore[attr-defined]
            os.environ.clear()
            os.environb.update(self._environment)
            changed.append("environment")
        if not _is_at(self._folder):
            os.chdir(self._folder)
            changed.append("working folder")
        if os.umask(self._mask) != self._mask:
            changed.append("file mode mask")
        if changed:
            display.Display().warning(f"{action} changed the {' and the '.join(changed)} of its process; restored")


def _is_at(folder: pathlib.Path) -> bool:
    try:
        return pathlib.Path.cwd() == folder
    except FileNotFoundError:
        return False


# --- what runs leave to later runs


class Caches:
    """What every run inherits from the warm process: compiled templates, and what was parsed and found in one project.

    Of all of it a run reports what was missing, and the warm process adds it for those that come. Templates are kept by
    everything that their code depends on. A file's content serves one load of a run, because whoever loads it may
    change it, and only as long as the file is the one that was parsed; the same goes for a playbook and all its files.
    """

    def __init__(self, project: pathlib.Path) -> None:
        self._project = f"{project}{os.sep}"
        self._templates: dict[tuple[Any, ...], types.CodeType] = {}
        self._files: dict[str, tuple[tuple[int, ...], Any]] = {}
        self._playbooks: dict[str, _Parsed] = {}
        self._plugins: dict[tuple[Any, ...], Any] = {}
        self._new_templates: dict[tuple[Any, ...], types.CodeType] = {}
        self._new: set[tuple[str, Any]] = set()
        self._served: set[str] = set()
        #: The files that the playbook which is being parsed is made of; None while none is.
        self._parts: set[str] | None = None

    def begin(self) -> None:
        """Begin to note what is missing, in a run."""
        self._new_templates.clear()
        self._new.clear()

    def news(self) -> bytes:
        """What this run had to do itself, for `learn` in the warm process; empty for nothing."""
        if not self._new_templates and not self._new:
            return b""
        return pickle.dumps((marshal.dumps(list(self._new_templates.items())), self._new))

    def learn(self, news: bytes) -> None:
        """Add what a run reports. The bytes come from a child of this process and from nobody else."""
        if not news:
            return
        templates, missing = pickle.loads(news)  # noqa: S301
        for key, code in marshal.loads(templates):  # noqa: S302
            if len(self._templates) < _MOST:
                self._templates[key] = code
        make: dict[str, Callable[[Any], None]] = {
            "file": self._parse,
            "playbook": self._parse_playbook,
            "plugin": self._find_plugin,
        }
        for kind, what in missing:
            make[kind](what)

    def install(self) -> None:
        """Have Ansible use them from now on."""
        self._serve_files()
        self._serve_playbooks()
        self._serve_plugins()
        self._serve_templates()

    # --- files

    def _serve_files(self) -> None:
        from ansible.parsing import dataloader

        stock = dataloader.DataLoader.load_from_file

        def load_from_file(  # noqa: PLR0917 - as it is called
            loader: Any,
            file_name: str,
            cache: str = "all",
            unsafe: bool = False,  # noqa: FBT001, FBT002
            json_only: bool = False,  # noqa: FBT001, FBT002
            trusted_as_template: bool = False,  # noqa: FBT001, FBT002
        ) -> Any:
            path = loader.path_dwim(file_name)
            if self._parts is not None:
                self._parts.add(path)
            if trusted_as_template and not json_only and path.startswith(self._project):
                signature, data = self._files.pop(path, (None, None))
                if signature and signature == _signature(path):
                    self._served.add(path)
                    return data
                # One that this run has had already is not missing: every later run finds it again.
                if path not in self._served:
                    self._new.add(("file", path))
            return stock(loader, file_name, cache, unsafe, json_only, trusted_as_template)

        dataloader.DataLoader.load_from_file = load_from_file
        self._stock_load = stock

    def _parse(self, path: str) -> None:
        from ansible.parsing import dataloader

        signature = _signature(path)
        if signature is None:
            return
        try:
            data = self._stock_load(dataloader.DataLoader(), path, "none", True, False, True)
        except Exception:  # noqa: BLE001 - the run that needs it will say what is wrong with it
            return
        self._files[path] = (signature, data)

    # --- playbooks

    def _serve_playbooks(self) -> None:
        from ansible.playbook import Playbook
        from ansible.utils.collection_loader import AnsibleCollectionConfig

        stock = Playbook.load

        def load(file_name: str, variable_manager: Any = None, loader: Any = None) -> Any:
            parsed = self._playbooks.pop(file_name, None)
            # What is in a collection finds the names of that collection without its own.
            if AnsibleCollectionConfig.default_collection or not pathlib.Path(file_name).is_absolute():
                return stock(file_name, variable_manager, loader)
            if parsed is None or not parsed.is_current():
                self._new.add(("playbook", file_name))
                return stock(file_name, variable_manager, loader)
            return parsed.given(variable_manager, loader)

        Playbook.load = staticmethod(load)
        self._stock_playbook = stock

    def _parse_playbook(self, path: str) -> None:
        """Parse a playbook that is the same in every run: without a warning, and without templates where it counts."""
        from ansible._internal._templating import _engine, _jinja_bits
        from ansible.parsing import dataloader
        from ansible.utils import display
        from ansible.vars import manager

        stock, shown = _engine.TemplateEngine.template, display.Display()
        said = [len(shown._warns), len(shown._deprecations)]
        templates = []

        def template(engine: Any, variable: Any, *arguments: Any, **keywords: Any) -> Any:
            if isinstance(variable, str) and _jinja_bits.is_possibly_template(variable):
                templates.append(variable)
            return stock(engine, variable, *arguments, **keywords)

        loader = dataloader.DataLoader()
        # One that knows nothing, and has made nothing that a run makes; it becomes that of the run.
        variables = object.__new__(manager.VariableManager)
        variables.get_vars = lambda *_, **__: {}
        self._parts = {path}
        _engine.TemplateEngine.template = template
        try:
            playbook = self._stock_playbook(path, variables, loader)
        except Exception:  # noqa: BLE001 - the run that needs it will say what is wrong with it
            return
        finally:
            _engine.TemplateEngine.template = stock
            parts, self._parts = self._parts, None
        if not templates and said == [len(shown._warns), len(shown._deprecations)]:
            self._playbooks[path] = _Parsed(playbook, variables, loader, parts)

    # --- plug-ins

    def _serve_plugins(self) -> None:
        from ansible.plugins import loader

        stock = loader.PluginLoader.find_plugin_with_context

        def find_plugin_with_context(made: Any, *arguments: Any, **keywords: Any) -> Any:
            named = tuple(sorted((name, _as_key(each)) for name, each in keywords.items()))
            what = (made.type, tuple(map(_as_key, arguments)), named)
            found = self._plugins.get((*what, tuple(made._extra_dirs)))
            if found is None:
                self._new.add(("plugin", what))
                return stock(made, *arguments, **keywords)
            return copy.copy(found)

        loader.PluginLoader.find_plugin_with_context = find_plugin_with_context
        self._stock_find = stock

    def _find_plugin(self, what: tuple[Any, ...]) -> None:
        from ansible.plugins import loader

        kind, arguments, keywords = what
        made = {one.type: one for _, one in loader.get_all_plugin_loaders()}[kind]
        found = self._stock_find(made, *map(_as_given, arguments), **{name: _as_given(each) for name, each in keywords})
        # What there is to say about a plug-in is said in each run.
        if not found.deprecated and not found.raw_error_list and len(self._plugins) < _MOST:
            self._plugins[*what, tuple(made._extra_dirs)] = found

    # --- templates

    def _serve_templates(self) -> None:
        from ansible._internal._templating import _jinja_bits
        from jinja2 import environment, nodes, parser

        stock = _jinja_bits.AnsibleEnvironment.compile
        stock_expression = _jinja_bits.AnsibleEnvironment.compile_expression

        def key(env: Any, kind: str, source: str) -> tuple[Any, ...]:
            context = _jinja_bits._TemplateCompileContext.current(optional=True)
            overrides = tuple(getattr(env, name) for name in _jinja_bits._TEMPLATE_OVERRIDE_FIELD_NAMES)
            embedded = _jinja_bits._TemplateConfig.allow_embedded_templates
            return (kind, str(source), overrides, None if context is None else context.escape_backslashes, embedded)

        def keep(wanted: tuple[Any, ...], code: types.CodeType) -> None:
            self._templates[wanted] = self._new_templates[wanted] = code

        def compile_template(env: Any, source: Any, *arguments: Any, **keywords: Any) -> Any:
            plain = isinstance(source, str) and not arguments and not any(keywords.values()) and not env.extensions
            if not plain:
                return stock(env, source, *arguments, **keywords)
            wanted = key(env, "template", source)
            if wanted not in self._templates:
                keep(wanted, stock(env, source))
            return self._templates[wanted]

        def compile_expression(env: Any, source: str, undefined_to_none: bool = True) -> Any:  # noqa: FBT001, FBT002
            if env.extensions:
                return stock_expression(env, source, undefined_to_none)
            wanted = key(env, "expression", source)
            if wanted not in self._templates:
                made = stock_expression(env, source, undefined_to_none)
                # Jinja makes of an expression a template that assigns it, and keeps no code of it: once more for us.
                expression = parser.Parser(env, source, state="variable").parse_expression()
                expression.set_environment(env)
                assignment = nodes.Assign(nodes.Name("result", "store"), expression, lineno=1)
                keep(wanted, stock(env, nodes.Template([assignment], lineno=1)))
                return made
            template = _jinja_bits.AnsibleTemplate.from_code(env, self._templates[wanted], env.make_globals(None), None)
            return environment.TemplateExpression(template, undefined_to_none)

        _jinja_bits.AnsibleEnvironment.compile = compile_template
        _jinja_bits.AnsibleEnvironment.compile_expression = compile_expression


class _Parsed:
    """A playbook, what it was parsed with, and the files and folders that it came from."""

    def __init__(self, playbook: Any, variables: Any, loader: Any, files: Iterable[str]) -> None:
        self._playbook = playbook
        self._parsed_with = (variables, loader)
        # A folder changes when a file comes into it, and that of a role when a folder does.
        paths = {parent for file in files for parent in (file, *map(str, pathlib.Path(file).parents[:2]))}
        self._signatures = {path: _signature(path) for path in paths}

    def is_current(self) -> bool:
        """Whether all of it is as it was when it was parsed."""
        return all(signature == _signature(path) for path, signature in self._signatures.items())

    def given(self, variables: Any, loader: Any) -> Any:
        """The playbook, as if it had been parsed in this run, with these."""
        from ansible.utils import vars as ids

        for before, now in zip(self._parsed_with, (variables, loader), strict=True):
            before.__dict__ = now.__dict__
        ahead = list(self._playbook.get_plays())
        while ahead:
            one = ahead.pop()
            one._uuid = ids.get_unique_id()
            for name in _CONTENTS:
                ahead += getattr(one, name, ())
        return self._playbook


# What the parts of a play hold further parts in.
_CONTENTS: Final = ("pre_tasks", "roles", "tasks", "post_tasks", "handlers", "block", "rescue", "always")


def _as_key(argument: Any) -> Any:
    """An argument for finding a plug-in as part of a key: only the collections to look in are a list."""
    return tuple(argument) if isinstance(argument, list) else argument


def _as_given(argument: Any) -> Any:
    return list(argument) if isinstance(argument, tuple) else argument


def _signature(path: str) -> tuple[int, ...] | None:
    """What changes when a file does; None when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - for hundreds of them
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
