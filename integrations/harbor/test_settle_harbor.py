"""Runs the adapter with a real settle against a fake model.

Harbor itself is not here: it needs Python 3.12 and packages from PyPI. What stands in
for it follows the published signatures of harbor.agents.base.BaseAgent,
harbor.agents.installed.base.BaseInstalledAgent and BaseEnvironment (version 0.17):
their constructors, exec_as_root, exec_as_agent, build_cli_flags, _get_env, upload_file.

PATH has settle; MODEL is the base URL of a fake model, SCRATCH an empty folder.
"""

import asyncio
import dataclasses
import json
import logging
import os
import pathlib
import shutil
import sys
import types

SCRATCH = pathlib.Path(os.environ["SCRATCH"])


@dataclasses.dataclass
class CliFlag:
    kwarg: str
    cli: str
    type: str = "str"


class BaseInstalledAgent:
    CLI_FLAGS = []

    def __init__(self, logs_dir, prompt_template_path=None, version=None, extra_env=None, *args,
                 model_name=None, logger=None, mcp_servers=None, skills_dir=None, **kwargs):
        self._flags = {f.kwarg: kwargs.pop(f.kwarg) for f in self.CLI_FLAGS if f.kwarg in kwargs}
        assert not kwargs, kwargs
        self.logs_dir, self.model_name, self._version = logs_dir, model_name, version
        self.logger, self.mcp_servers, self.skills_dir = logging.getLogger("agent"), mcp_servers or [], skills_dir
        self._extra_env = dict(extra_env or {})

    def _get_env(self, key):
        return self._extra_env.get(key) or os.environ.get(key)

    def build_cli_flags(self):
        return " ".join(f"{f.cli} {self._flags[f.kwarg]}" for f in self.CLI_FLAGS if f.kwarg in self._flags)

    async def exec_as_root(self, environment, command, env=None, cwd=None, timeout_sec=None):
        return await self._exec(environment, command, env)

    async def exec_as_agent(self, environment, command, env=None, cwd=None, timeout_sec=None):
        return await self._exec(environment, command, env)

    async def _exec(self, environment, command, env):
        result = await environment.exec(command=f"set -o pipefail; {command}", env=env)
        if result.return_code != 0:
            raise RuntimeError(f"Command failed (exit {result.return_code}): {result.stderr}")
        return result


class Environment:
    """A container, as far as the adapter sees one: what runs in it goes on when its caller is cancelled."""

    def __init__(self, home):
        self.home = home

    async def exec(self, command, env=None, timeout_sec=None, user=None, cwd=None):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), **(env or {})}
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, env=env, cwd=self.home, start_new_session=True,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        out, err = await process.communicate()
        return types.SimpleNamespace(return_code=process.returncode, stdout=out.decode(), stderr=err.decode())

    async def upload_file(self, source, target):
        shutil.copy(source, target)


def stand_in():
    for name in ("harbor", "harbor.agents", "harbor.agents.installed", "harbor.agents.installed.base"):
        sys.modules[name] = types.ModuleType(name)
    base = sys.modules["harbor.agents.installed.base"]
    base.BaseInstalledAgent, base.CliFlag, base.with_prompt_template = BaseInstalledAgent, CliFlag, lambda run: run


def trial(name, **kwargs):
    """A new agent with its logs and its environment."""
    from settle_harbor import Settle

    home, logs = SCRATCH / name / "home", SCRATCH / name / "logs"
    home.mkdir(parents=True)
    logs.mkdir()
    agent = Settle(logs, model_name="openai/gpt-5.2", extra_env={"OPENAI_API_KEY": "k"}, base_url=os.environ["MODEL"], **kwargs)
    agent.LOGS = str(logs)  # where a container has /logs/agent
    return agent, Environment(home)


def context_of(agent):
    context = types.SimpleNamespace()
    agent.populate_context_post_run(context)
    trajectory = json.loads((agent.logs_dir / "trajectory.json").read_text())
    assert trajectory["schema_version"] == "ATIF-v1.7", trajectory
    return context, trajectory


async def completes():
    skill = SCRATCH / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: Greets.\n---\nSay hello.\n")
    server = types.SimpleNamespace(name="files", transport="stdio", command="/bin/sh", args=["-c", 'exit "1"'], url=None)
    agent, environment = trial("completes", mcp_servers=[server], skills_dir=str(SCRATCH / "skills"), max_steps=7)
    await agent.install(environment)
    version = await environment.exec(command=agent.get_version_command())
    assert agent.parse_version(version.stdout), version
    await agent.run("say 'hello'; $HOME", environment, None)
    context, trajectory = context_of(agent)
    assert (context.n_input_tokens, context.n_output_tokens, context.n_cache_tokens) == (1200, 60, 800), vars(context)
    assert context.cost_usd is None, vars(context)  # a server of one's own has no price
    trajectory["final_metrics"]["total_cost_usd"] = 0.5
    child = {"final_metrics": {"total_prompt_tokens": 1, "total_cost_usd": 0.25}, "subagent_trajectories": [{"final_metrics": {"total_cost_usd": 0.25}}]}
    (agent.logs_dir / "trajectory.json").write_text(json.dumps({**trajectory, "subagent_trajectories": [child]}))
    context, _ = context_of(agent)
    assert (context.n_input_tokens, context.cost_usd) == (1201, 1.0), vars(context)
    assert [s["message"] for s in trajectory["steps"]] == ["say 'hello'; $HOME", "Hello."], trajectory
    env = agent._environment()
    for command, word in (("settle mcp-servers", "files"), ("settle skills", "greet"), (f"cat {agent.LOGS}/settle/events.jsonl", "turn.completed")):
        result = await environment.exec(command=command, env=env)
        assert word in result.stdout, (command, result)


async def begins_with_a_trajectory():
    file = SCRATCH / "trajectory.json"
    file.write_text(json.dumps({"schema_version": "ATIF-v1.7", "agent": {"name": "other", "version": "1"}, "steps": [
        {"step_id": 1, "source": "user", "message": "before"}, {"step_id": 2, "source": "agent", "message": "Yes."}]}))
    agent, environment = trial("begins", load_trajectory=str(file))
    await agent.run("again", environment, None)
    await agent.run("and again", environment, None)  # Harbor resumes: it is loaded once
    context, trajectory = context_of(agent)
    assert [s["message"] for s in trajectory["steps"]] == ["before", "Yes.", "again", "Once.", "and again", "Twice."], trajectory
    assert context.n_input_tokens == 30, vars(context)  # of its own requests


async def reaches_a_limit():
    agent, environment = trial("limit", max_steps=1)
    await agent.run("list the files", environment, None)  # no error: it can be graded
    _, trajectory = context_of(agent)
    assert trajectory["final_metrics"]["extra"]["outcome"] == "aborted", trajectory


async def fails():
    agent, environment = trial("fails")
    try:
        await agent.run("fail", environment, None)
    except RuntimeError as error:
        assert "exit 1" in str(error) and "no such model" in str(error), error
    else:
        raise AssertionError("no error")
    _, trajectory = context_of(agent)
    assert trajectory["final_metrics"]["extra"]["outcome"] == "failed", trajectory


async def running(agent):
    """Waits until the command that never ends has said so."""
    events = agent.logs_dir / "settle" / "events.jsonl"
    while not (events.exists() and '"kind":"call.started"' in events.read_text()):
        await asyncio.sleep(0.02)


async def is_cancelled():
    """Harbor's time is up: nothing goes on in the environment, and the trajectory says why."""
    agent, environment = trial("cancelled")
    task = asyncio.create_task(agent.run("wait", environment, None))
    await running(agent)
    pid = int((agent.logs_dir / "settle" / "pid").read_text())
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled(), task
    assert not pathlib.Path(f"/proc/{pid}").exists()
    _, trajectory = context_of(agent)
    assert trajectory["final_metrics"]["extra"] == {"requests": 1, "calls": 1, "outcome": "aborted", "cause": "settle was shut down"}, trajectory


async def is_killed():
    agent, environment = trial("killed")
    task = asyncio.create_task(agent.run("wait", environment, None))
    await running(agent)
    os.kill(int((agent.logs_dir / "settle" / "pid").read_text()), 9)
    result, = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(result, RuntimeError) and "exit 137" in str(result), result
    _, trajectory = context_of(agent)
    assert [s["source"] for s in trajectory["steps"]] == ["user", "agent"], trajectory
    # The environment died before anything could be written there.
    (agent.logs_dir / "trajectory.json").unlink()
    context_of(agent)


async def passes_urls_on():
    agent, _ = trial("urls")
    urls = {name: "http://x/" + name for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL")}  # of docs/reference/cli.md
    agent._extra_env.update(urls)
    assert urls.items() <= agent._environment().items(), agent._environment()


async def refuses():
    for transport, model in (("sse", "openai/gpt-5.2"), ("stdio", "gpt-5.2")):
        agent, environment = trial("refuses-" + transport, mcp_servers=[types.SimpleNamespace(name="n", transport=transport, url="http://x", command="true", args=[])])
        agent.model_name = model
        try:
            await agent.run("hello", environment, None)
        except ValueError:
            continue
        raise AssertionError(transport)


async def main():
    for case in (completes, begins_with_a_trajectory, reaches_a_limit, fails, is_cancelled, is_killed, passes_urls_on, refuses):
        await asyncio.wait_for(case(), 60)
        print("ok", case.__name__)


if __name__ == "__main__":
    stand_in()
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    sys.dont_write_bytecode = True
    asyncio.run(main())
