"""A headless Chromium driven over its own protocol, through two pipes: no driver and no library between."""

import base64
import fcntl
import json
import os
import select
import signal
import time
from pathlib import Path
from typing import Any, Self

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


class Browser:
    """One page in a browser of its own; it records what goes wrong in it and what it asks the network for."""

    def __init__(self, profile: Path) -> None:
        # The browser reads commands from its descriptor 3 and writes answers to its descriptor 4.
        theirs_in, self._commands = _pipe()
        self._answers, theirs_out = _pipe()
        self._process = os.posix_spawnp(
            "chromium",
            ["chromium", *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs_in, 3),
                (os.POSIX_SPAWN_DUP2, theirs_out, 4),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._received = b""
        self._sent = 0
        self._session = ""
        self._events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._commands)
        os.close(self._answers)
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Show a file in a window of the given size and forget the page before it."""
        phone = width < 600
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self._call("Page.navigate", url=page.as_uri())
        self._until("Page.loadEventFired")
        self.draw()

    def draw(self) -> None:
        """Wait until the page is drawn as it is now: until then the mouse hits what was there before."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Click with the mouse into the middle of the first element that matches."""
        self.drag(selector, 0, 0)

    def drag(self, selector: str, right: int, down: int) -> None:
        """Press the mouse in the middle of the first element that matches and release it some pixels away."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'center', inline: 'center'}})")
        self.draw()
        x, y = self.run(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({found}.getBoundingClientRect())")
        self._mouse("mousePressed", x, y)
        if right or down:
            self._mouse("mouseMoved", x + right, y + down)
        self._mouse("mouseReleased", x + right, y + down)

    def press(self, key: str) -> None:
        """Press a key on whatever has the focus."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key)

    def complaints(self) -> list[str]:
        """Errors, warnings and messages of the page since it was opened."""
        self.run("0")
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self._events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """Addresses that the page asked for since it was opened."""
        self.run("0")
        asked = [event for event in self._events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    def screenshot(self, path: Path) -> None:
        """Save a picture of the whole page."""
        answer = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed, on the paper that its style sheet asks for."""
        answer = self._call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(answer["data"])

    def _mouse(self, kind: str, x: float, y: float) -> None:
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._events.append(answer)

    def _until(self, method: str) -> None:
        while not any(event.get("method") == method for event in self._events):
            self._events.append(self._next())

    def _next(self) -> dict[str, Any]:
        """The next message of the browser."""
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._answers, 1 << 16) if ready else b""
            assert data, "the browser is silent"
            self._received += data
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are clear of the descriptors that the browser is given."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
