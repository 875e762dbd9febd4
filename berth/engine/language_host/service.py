"""The LanguageRuntime service: answers the engine and runs programs and plugins for it."""

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import IO

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    language_pb2,
    language_pb2_grpc,
    plugin_pb2,
)

from berth.engine import run_program
from berth.engine.language_host.children import Children, signal_group
from berth.engine.language_host.interpreter import (
    Interpreter,
    NoInterpreterError,
    choose_interpreter,
)

LIST_PACKAGES = """
import importlib.metadata, json
print(json.dumps([[d.metadata["Name"], d.version] for d in importlib.metadata.distributions()]))
"""


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """What the engine asks of Python. Methods that it does not ask of a host are left out."""

    def __init__(self, engine_address: str, children: Children) -> None:
        self._engine_address = engine_address
        self._children = children

    def Handshake(  # noqa: N802
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        """Take the engine's address."""
        self._engine_address = request.engine_address or self._engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(  # noqa: N802
        self, request: Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        """Speak for the installed SDK."""
        return plugin_pb2.PluginInfo(version=version("pulumi"))

    def About(  # noqa: N802
        self, request: language_pb2.AboutRequest, context: grpc.ServicerContext
    ) -> language_pb2.AboutResponse:
        """Name the interpreter of the program."""
        interpreter = interpreter_of(request.info, context)
        ran = subprocess.run(
            [interpreter.python, "-V"], capture_output=True, text=True, check=False
        )
        return language_pb2.AboutResponse(
            executable=str(interpreter.python), version=ran.stdout.strip().removeprefix("Python ")
        )

    def GetProgramDependencies(  # noqa: N802
        self,
        request: language_pb2.GetProgramDependenciesRequest,
        context: grpc.ServicerContext,
    ) -> language_pb2.GetProgramDependenciesResponse:
        """List the packages of the program's environment."""
        interpreter = interpreter_of(request.info, context)
        ran = subprocess.run(
            [interpreter.python, "-c", LIST_PACKAGES], capture_output=True, text=True, check=False
        )
        found = sorted(json.loads(ran.stdout)) if ran.returncode == 0 else []
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[language_pb2.DependencyInfo(name=n, version=v) for n, v in found]
        )

    def GetRequiredPackages(  # noqa: N802
        self, request: language_pb2.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        """Ask for no plugin ahead of the program; the engine meets them as they are used."""
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(  # noqa: N802
        self, request: language_pb2.GetRequiredPluginsRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPluginsResponse:
        """As `GetRequiredPackages`, for an older engine."""
        return language_pb2.GetRequiredPluginsResponse()

    def InstallDependencies(  # noqa: N802
        self, request: language_pb2.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        """Install nothing: the environment is the user's."""
        return iter(())

    def RuntimeOptionsPrompts(  # noqa: N802
        self, request: language_pb2.RuntimeOptionsRequest, context: grpc.ServicerContext
    ) -> language_pb2.RuntimeOptionsResponse:
        """Ask nothing when a project is made."""
        return language_pb2.RuntimeOptionsResponse()

    def GenerateProgram(  # noqa: N802
        self, request: language_pb2.GenerateProgramRequest, context: grpc.ServicerContext
    ) -> language_pb2.GenerateProgramResponse:
        """Refuse in words: `pulumi import` asks for code by default."""
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED,
            "this language host writes no code; add --generate-code=false",
        )
        raise AssertionError("abort raises")

    def Cancel(self, request: Empty, context: grpc.ServicerContext) -> Empty:  # noqa: N802
        """Pass Ctrl-C on to what runs."""
        threading.Thread(target=self._children.interrupt, daemon=True).start()
        return Empty()

    def Run(  # noqa: N802
        self, request: language_pb2.RunRequest, context: grpc.ServicerContext
    ) -> language_pb2.RunResponse:
        """Run a program to its end."""
        try:
            interpreter = choose_interpreter(
                MessageToDict(request.info.options), request.info.root_directory
            )
            child = self._children.start(
                program_command(interpreter, request, self._engine_address),
                cwd=request.pwd,
                environment=program_environment(interpreter, request),
            )
        except NoInterpreterError as error:
            show_error(self._engine_address, str(error))
            return language_pb2.RunResponse(bail=True)
        except OSError as error:
            return language_pb2.RunResponse(error=str(error))
        return outcome(self._children.wait(child))

    def RunPlugin(  # noqa: N802
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.RunPluginResponse]:
        """Run a policy pack or a component provider, and pass on what it prints."""
        interpreter = interpreter_of(request.info, context)
        inherited = dict(pair.split("=", 1) for pair in request.env if "=" in pair)
        try:
            child = self._children.start(
                plugin_command(interpreter, request),
                cwd=plugin_folder(request),
                environment=interpreter.environment(inherited or os.environ),
                output=subprocess.PIPE,
            )
        except OSError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        if not context.add_callback(lambda: signal_group(child, signal.SIGKILL)):
            signal_group(child, signal.SIGKILL)
        try:
            yield from output_of(child)
        finally:  # also when the engine has hung up and nobody reads on
            exit_code = self._children.wait(child)
        yield language_pb2.RunPluginResponse(exitcode=exit_code or 0)


def show_error(engine_address: str, message: str) -> None:
    """Have the engine show an error as it is, without words of its own around it."""
    with grpc.insecure_channel(engine_address) as channel:
        engine_pb2_grpc.EngineStub(channel).Log(
            engine_pb2.LogRequest(severity=engine_pb2.ERROR, message=message)
        )


def interpreter_of(info: language_pb2.ProgramInfo, context: grpc.ServicerContext) -> Interpreter:
    """The Python of a program, or the end of the call with the one line that says why not."""
    try:
        return choose_interpreter(MessageToDict(info.options), info.root_directory)
    except NoInterpreterError as error:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))


def program_command(
    interpreter: Interpreter, request: language_pb2.RunRequest, engine_address: str
) -> list[str]:
    """The command line that runs a program."""
    named = {
        "--monitor": request.monitor_address,
        "--engine": engine_address,
        "--project": request.project,
        "--stack": request.stack,
        "--organization": request.organization,
        "--root-directory": request.info.root_directory,
        "--parallel": str(request.parallel),
    }
    options = [f"{name}={value}" for name, value in named.items()]
    if request.dryRun:
        options.append("--dry-run")
    program = str(Path(request.info.program_directory, request.info.entry_point or "."))
    script = str(Path(run_program.__file__).resolve())
    return [str(interpreter.python), "-u", script, *options, "--", program, *request.args]


def program_environment(
    interpreter: Interpreter, request: language_pb2.RunRequest
) -> dict[str, str]:
    """The program's environment; its configuration travels here and not on the command line."""
    return interpreter.environment(
        {
            **os.environ,
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
    )


def outcome(exit_code: int | None) -> language_pb2.RunResponse:
    """What the engine is told about a program that has ended; None: it was interrupted."""
    if exit_code == 0:
        return language_pb2.RunResponse()
    if exit_code is None or exit_code == run_program.ALREADY_SHOWN:
        return language_pb2.RunResponse(bail=True)
    if exit_code < 0:
        name = signal.Signals(-exit_code).name
        return language_pb2.RunResponse(error=f"Program was ended by {name}")
    return language_pb2.RunResponse(error=f"Program exited with non-zero exit code: {exit_code}")


def plugin_command(interpreter: Interpreter, request: language_pb2.RunPluginRequest) -> list[str]:
    """The command line of a plugin: a policy pack by the SDK's runner, else the folder itself."""
    program = str(Path(request.info.program_directory, request.info.entry_point or "."))
    python = [str(interpreter.python), "-u"]
    if request.kind == "analyzer":
        engine_address, *rest = request.args
        return [*python, "-m", "pulumi.policy", engine_address, program, *rest]
    return [*python, program, *request.args]


def plugin_folder(request: language_pb2.RunPluginRequest) -> str:
    """Where a plugin starts: a policy pack in its own folder, as under Pulumi's own host."""
    return request.info.program_directory if request.kind == "analyzer" else request.pwd


def output_of(child: subprocess.Popen[bytes]) -> Iterator[language_pb2.RunPluginResponse]:
    """Both streams of a child in the order of arrival, until both are closed."""
    arrived: queue.SimpleQueue[language_pb2.RunPluginResponse | None] = queue.SimpleQueue()

    def read(stream: IO[bytes], respond: Callable[[bytes], language_pb2.RunPluginResponse]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), 65536):
                arrived.put(respond(chunk))
        arrived.put(None)

    assert child.stdout is not None
    assert child.stderr is not None
    streams = (
        (child.stdout, lambda chunk: language_pb2.RunPluginResponse(stdout=chunk)),
        (child.stderr, lambda chunk: language_pb2.RunPluginResponse(stderr=chunk)),
    )
    for stream_and_response in streams:
        threading.Thread(target=read, args=stream_and_response, daemon=True).start()
    open_streams = len(streams)
    while open_streams:
        message = arrived.get()
        if message is None:
            open_streams -= 1
        else:
            yield message
