"""settle as a harness of verifiers (https://github.com/PrimeIntellect-ai/verifiers), v1.

    uv run eval TASKSET --harness.id settle_verifiers -m MODEL

verifiers drives settle over the Agent Client Protocol, as it drives its own harnesses:
one `settle acp` for each rollout, in the rollout's runtime. Its requests go to the
interception endpoint, which records them. The task's tool servers and its system prompt
are passed on.
"""

import json
import shlex

from verifiers.v1.acp import ACPConfig, ACPHarness
from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.runtimes import Runtime
from verifiers.v1.task import TaskData
from verifiers.v1.trace import Trace

STATE = "/var/tmp/settle-verifiers"


class SettleHarnessConfig(HarnessConfig):
    install_url: str | None = None
    """The https address of the files of a release, with install.sh. Without it, settle has to be in the runtime."""
    max_steps: int | None = None
    """Responses of the model in a turn."""
    tools: str | None = None
    """The tools that the model gets, separated by commas."""


class SettleHarness(ACPHarness[SettleHarnessConfig]):
    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_MCP = True

    async def setup(self, runtime: Runtime) -> None:
        command = "command -v settle >/dev/null || { echo 'settle is not in the runtime; set install_url' >&2; exit 1; }"
        if url := self.config.install_url:
            url = shlex.quote(url)
            install = f"SETTLE_INSTALL_URL={url} SETTLE_INSTALL_DIR=/usr/local/bin sh"
            command = f"command -v settle >/dev/null || {{ set -e; curl --proto '=https' --tlsv1.2 -fsSL {url}/install.sh -o {STATE}.sh; {install} {STATE}.sh; rm -f {STATE}.sh; }}"
        result = await runtime.run(["sh", "-c", command], {})
        if result.exit_code != 0:
            raise RuntimeError(f"cannot install settle: {(result.stderr or result.stdout).strip()[-500:]}")
        await super().setup(runtime)

    async def prepare_acp(
        self,
        ctx: ModelContext,
        trace: Trace,
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: TaskData,
    ) -> ACPConfig:
        state = self.state_of(trace)
        sampling = {name: value for name in ("temperature", "top_p") if (value := getattr(ctx.sampling, name, None)) is not None}
        body = ", ".join(f"{name} = {json.dumps(value)}" for name, value in sampling.items())
        config = f"[providers.chat]\nextra_body = {{ {body} }}\n"
        config += "".join(f"[mcp.{json.dumps(name)}]\nurl = {json.dumps(url)}\n" for name, url in mcp_urls.items())
        await runtime.write(f"{state}/config/settle/config.toml", config.encode())
        command = ["settle", "acp", "--model", f"chat/{ctx.model}", "--base-url", endpoint, "--permission", "allow", "--no-project-config"]
        for flag, value in (("--max-steps", self.config.max_steps), ("--tools", self.config.tools)):
            if value is not None:
                command += [flag, str(value)]
        system_prompt, prompt = self.resolve_prompt(data)
        # What is in _meta of session/new becomes a system message, not a part of the prompt.
        meta = {"systemPrompt": {"append": system_prompt}} if system_prompt else None
        env = {
            **getattr(self.config, "resolved_env", self.config.env),
            "SETTLE_API_KEY": secret,
            "SETTLE_DATA_DIR": f"{state}/data",
            "XDG_CONFIG_HOME": f"{state}/config",
        }
        if mcp_urls:  # settle asks the servers for their tools now, so that the first request has them
            test = await runtime.run(["settle", "mcp-servers", "--test", "--no-project-config"], env)
            if test.exit_code != 0:
                raise RuntimeError(f"the task's tools cannot be had: {(test.stdout + test.stderr).strip()[-500:]}")
        return ACPConfig(env=env, command=command, prompt=prompt, mcp_urls={}, session_meta=meta)

    async def cleanup(self, trace: Trace, runtime: Runtime) -> None:
        result = await runtime.run(["rm", "-rf", self.state_of(trace)], {})
        if result.exit_code != 0:
            raise RuntimeError(f"cannot remove settle's data: {result.stderr.strip()[-500:]}")

    @staticmethod
    def state_of(trace: Trace) -> str:
        return f"{STATE}/{trace.id}"


__all__ = ["SettleHarness", "SettleHarnessConfig"]
