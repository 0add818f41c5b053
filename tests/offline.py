"""Processes that can reach nothing beyond loopback: a network namespace where allowed, else a `sitecustomize`.

`python -m tests.offline COMMAND...` is the namespace's inner half: it brings loopback up and becomes the command.
"""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

REFUSING = '''
"""Refuse, and write down, every connection and name look-up beyond loopback."""
import os, socket

_connect, _connect_ex, _getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo


def _check(host):
    name = host.decode() if isinstance(host, bytes) else host
    if name not in (None, "", "localhost", "::1") and not str(name).startswith("127."):
        with open(os.environ["STEMMA_OFFLINE_LOG"], "a") as log:
            print(os.getpid(), name, file=log)
        raise OSError(101, "Network is unreachable (refused by the test)")


def connect(self, address):
    if self.family != socket.AF_UNIX:
        _check(address[0])
    return _connect(self, address)


def connect_ex(self, address):
    if self.family != socket.AF_UNIX:
        _check(address[0])
    return _connect_ex(self, address)


def getaddrinfo(host, *arguments, **options):
    _check(host)
    return _getaddrinfo(host, *arguments, **options)


socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo = connect, connect_ex, getaddrinfo
'''


def namespaces_allowed() -> bool:
    """Whether this machine lets us make a network namespace."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0


def in_namespace(command: list[str], environment: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The command and environment that run `command` in a namespace with nothing but loopback."""
    return ["unshare", "-rn", sys.executable, str(Path(__file__).resolve()), *command], environment


def with_sitecustomize(
    command: list[str], environment: dict[str, str], folder: Path
) -> tuple[list[str], dict[str, str]]:
    """The command and environment that run `command` with Python's sockets refusing, in every process of the tree."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(REFUSING)
    path = f"{folder}{os.pathsep}{environment.get('PYTHONPATH', '')}"
    return command, {**environment, "PYTHONPATH": path, "STEMMA_OFFLINE_LOG": str(folder / "refused.log")}


def bring_loopback_up() -> None:
    """What `ip link set lo up` does."""
    get_flags, set_flags, up = 0x8913, 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh", b"lo", 0)
        (flags,) = struct.unpack("16xh", fcntl.ioctl(handle, get_flags, request))
        fcntl.ioctl(handle, set_flags, struct.pack("16sh", b"lo", flags | up))


if __name__ == "__main__":
    bring_loopback_up()
    os.execvp(sys.argv[1], sys.argv[1:])
