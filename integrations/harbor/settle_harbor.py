"""settle as an agent of Harbor (https://github.com/laude-institute/harbor).

    harbor run -d terminal-bench@2.0 --agent-import-path settle_harbor:Settle -m openai/gpt-5.2

The agent runs in the task's environment. Its log, events and errors are in
/logs/agent, which Harbor copies to the host. The trajectory (ATIF) is written
from the log, so also when a run fails, reaches a limit or is killed.
"""

import asyncio
import json
import shlex
import shutil
import subprocess
from pathlib import Path

from harbor.agents.installed.base import BaseInstalledAgent, CliFlag, with_prompt_template

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "SETTLE_API_KEY")
BASE_URLS = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
PROVIDERS = {"google": "gemini"}  # Harbor's names of providers that settle calls otherwise
SESSION = "harbor"


class Settle(BaseInstalledAgent):
    """Keyword arguments (--ak NAME=VALUE), besides the flags below:

    archive          a settle_VERSION_linux_MACHINE.tar.gz on this host to install
    install_url      https address of the files of a release, with install.sh; needs curl in the environment
    load_trajectory  a trajectory (ATIF) or an exported session on this host to begin with
    """

    SUPPORTS_ATIF = True
    SUPPORTS_RESUME = True
    LOGS = "/logs/agent"  # in the environment
    CLI_FLAGS = [
        CliFlag("base_url", cli="--base-url"),
        CliFlag("effort", cli="--effort"),
        CliFlag("max_steps", cli="--max-steps", type="int"),
        CliFlag("max_tokens", cli="--max-tokens", type="int"),
        CliFlag("max_cost", cli="--max-cost"),
        CliFlag("timeout", cli="--timeout"),
        CliFlag("retry_for", cli="--retry-for"),
        CliFlag("tools", cli="--tools"),
        CliFlag("tool_family", cli="--tool-family"),
    ]

    def __init__(self, logs_dir, *args, archive=None, install_url=None, load_trajectory=None, **kwargs):
        super().__init__(logs_dir, *args, **kwargs)
        self._archive = Path(archive) if archive else None
        self._install_url = install_url
        self._trajectory = Path(load_trajectory) if load_trajectory else None

    @staticmethod
    def name():
        return "settle"

    def get_version_command(self):
        return "settle version"

    def parse_version(self, stdout):
        return stdout.split()[1].removeprefix("v")  # settle v1.2.3 linux/amd64 …

    async def install(self, environment):
        """Installs the archive or the release. An environment that has settle keeps it."""
        if self._archive:
            await environment.upload_file(self._archive, "/tmp/settle.tar.gz")
            command = (
                "mkdir -p /usr/local/bin && tar -xzf /tmp/settle.tar.gz -C /usr/local/bin"
                " --strip-components=1 --wildcards '*/settle' && rm /tmp/settle.tar.gz"
            )
        elif self._install_url:
            url = shlex.quote(self._install_url)
            command = (
                f"curl --proto '=https' --tlsv1.2 -fsSL {url}/install.sh -o /tmp/install-settle.sh && "
                f"SETTLE_INSTALL_URL={url} SETTLE_INSTALL_DIR=/usr/local/bin sh /tmp/install-settle.sh; "
                "code=$?; rm -f /tmp/install-settle.sh; exit $code"
            )
        else:
            command = (
                "command -v settle >/dev/null || "
                "{ echo 'settle is not in the environment; give archive or install_url' >&2; exit 1; }"
            )
        await self.exec_as_root(environment, command=command)

    @with_prompt_template
    async def run(self, instruction, environment, context):
        if not self.model_name or "/" not in self.model_name:
            raise ValueError("name the model as PROVIDER/NAME")
        provider, model = self.model_name.split("/", 1)
        env = self._environment()
        await self.exec_as_agent(environment, command=self._prepare(), env=env)
        if self._trajectory:
            await self._load(environment, env)
        flags = ["--json", "--session", SESSION, "-m", f"{PROVIDERS.get(provider, provider)}/{model}", "--no-project-config"]
        command = " ".join(
            [
                # The shell becomes settle, so that its own id is settle's.
                f"sh -c 'echo $$ >{self.LOGS}/settle/pid; exec settle run \"$@\"' sh",
                shlex.join(flags),
                self.build_cli_flags(),
                "--",
                shlex.quote(instruction),
                f"</dev/null >>{self.LOGS}/settle/events.jsonl 2>>{self.LOGS}/settle/stderr.txt;",
                # A limit (3) is an ending that can be graded. Of an error the cause is said.
                f"code=$?; rm -f {self.LOGS}/settle/pid; [ $code = 0 ] || tail -n 5 {self.LOGS}/settle/stderr.txt >&2;",
                "[ $code = 3 ] || exit $code",
            ]
        )
        try:
            await self.exec_as_agent(environment, command=command, env=env)
        finally:
            # Also when Harbor's time is up and this task is cancelled.
            await asyncio.shield(self._export(environment, env))

    async def _load(self, environment, env):
        """Makes the session, once: Harbor runs an agent again to resume it."""
        path = "/tmp/settle-trajectory"
        await environment.upload_file(self._trajectory, path)
        command = f"settle sessions show {SESSION} >/dev/null 2>&1 || settle sessions import {path} --session {SESSION}; code=$?; rm -f {path}; exit $code"
        await self.exec_as_agent(environment, command=command, env=env)

    def _environment(self):
        """The variables of settle. Keys are here and not in a command, which is logged."""
        env = {name: value for name in KEYS + BASE_URLS if (value := self._get_env(name))}
        env.update(getattr(getattr(self, "model_connection", None), "env", None) or {})
        env["SETTLE_DATA_DIR"] = f"{self.LOGS}/settle/data"
        env["XDG_CONFIG_HOME"] = f"{self.LOGS}/settle/config"
        return env

    def _prepare(self):
        """A command that writes the configuration and copies the task's skills."""
        config = "".join(self._server(server) for server in self.mcp_servers)
        place = f"{self.LOGS}/settle/config/settle"
        command = f"umask 077; mkdir -p {place} && printf %s {shlex.quote(config)} >{place}/config.toml"
        if getattr(self, "skills_dir", None):
            command += f" && mkdir -p ~/.agents/skills && cp -r {shlex.quote(self.skills_dir)}/. ~/.agents/skills/"
        return command

    @staticmethod
    def _server(server):
        """A server of the task, as settle's configuration names it."""
        quote = lambda value: json.dumps(value, ensure_ascii=False)  # TOML's basic strings are JSON's
        if server.transport == "stdio":
            what = f"command = {quote(server.command)}\nargs = {quote(list(server.args or []))}\n"
        elif server.transport in ("streamable-http", "http"):
            what = f"url = {quote(server.url)}\n"
        else:
            raise ValueError(f"settle does not speak {server.transport} to MCP servers, which {server.name} wants")
        return f"[mcp.{quote(server.name)}]\n{what}"

    async def _export(self, environment, env):
        """Ends a settle that is still there, and writes the trajectory from its log."""
        logs = self.LOGS
        result = await environment.exec(
            command=(
                f"if [ -s {logs}/settle/pid ]; then pid=$(cat {logs}/settle/pid); kill -TERM $pid 2>/dev/null; "
                "n=0; while kill -0 $pid 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done; fi; "
                f"settle sessions export {SESSION} --format atif >{logs}/trajectory.json.new; code=$?; "
                f"[ ! -s {logs}/trajectory.json.new ] || mv {logs}/trajectory.json.new {logs}/trajectory.json; exit $code"
            ),
            env=env,
            timeout_sec=60,
        )
        if result.return_code != 0:
            self.logger.warning("cannot write the trajectory: %s", result.stderr)

    def populate_context_post_run(self, context):
        path = self.logs_dir / "trajectory.json"
        if not path.exists():
            self._export_here(path)
        if not path.exists():
            return
        trajectory = json.loads(path.read_text())
        totals = list(self._totals(trajectory))
        context.n_input_tokens = sum(t.get("total_prompt_tokens", 0) for t in totals)
        context.n_output_tokens = sum(t.get("total_completion_tokens", 0) for t in totals)
        context.n_cache_tokens = sum(t.get("total_cached_tokens", 0) for t in totals)
        costs = [t.get("total_cost_usd") for t in totals]
        context.cost_usd = None if None in costs else sum(costs)  # None: the price of a request is not known

    def _export_here(self, path):
        """Writes the trajectory on the host, if the environment died first and settle is here."""
        settle = shutil.which("settle")
        if not settle or not (self.logs_dir / "settle" / "data").exists():
            return
        done = subprocess.run(
            [settle, "sessions", "export", SESSION, "--format", "atif", "--data-dir", str(self.logs_dir / "settle" / "data")],
            capture_output=True,
            timeout=60,
        )
        if done.stdout:  # of a damaged log, what could be read
            path.write_bytes(done.stdout)

    def _totals(self, trajectory):
        """The sums of a session and of its child agents."""
        yield trajectory.get("final_metrics") or {}
        for child in trajectory.get("subagent_trajectories") or []:
            yield from self._totals(child)
