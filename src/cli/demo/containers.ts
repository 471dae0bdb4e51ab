import {kinds} from '#src/api/kinds/index.js';
import {sleep} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {isReadyNode} from '#src/model/node-readiness.js';
import type {Invocation} from '#src/program/program.js';
import type {demoFlags} from '#src/options/programs/demo.js';
import {cleanAgent} from '#src/cli/node/clean-agent.js';
import {startAgentBeside} from '#src/cli/platlet/beside.js';
import type {ScenarioContext} from './scenario.js';

/** What the demo of containers works with. */
interface ContainersContext extends ScenarioContext {
  /** Aborts when the demo is to end. */
  readonly stopping: AbortSignal;
}

const patienceMs = 60_000;

/**
 * Resolves to what `look` finds, once it does. Rejects after a minute, with the reason where `explain` knows one, and
 * when the demo is stopped.
 */
const found = async <T>(
  {clock, stopping}: ContainersContext,
  what: string,
  look: () => Promise<T | undefined | false>,
  explain: () => Promise<string | undefined> = async () => undefined,
): Promise<T> => {
  const end = clock.monotonic() + patienceMs;
  for (;;) {
    const result = await look();
    if (result) return result;
    if (clock.monotonic() > end) {
      const why = await explain();
      throw new Error(`expected that ${what} within ${patienceMs / 1000} s${why === undefined ? '' : `: ${why}`}`);
    }
    await sleep(clock, 100, stopping).catch(() => {
      throw new Error('stopped before its end');
    });
  }
};

/** Returns why a container of the demo does not run. */
const waitingReason = async (admin: Client, namespace: string): Promise<string | undefined> => {
  const {items} = await admin.resource(kinds.pods).list({namespace, labelSelector: 'app=demo'});
  const [waiting] = items.flatMap(({status}) => status?.containerStatuses ?? []).flatMap(({state}) => state?.waiting ?? []);
  return waiting && [waiting.reason, waiting.message].filter(Boolean).join(': ');
};

/** A node of this machine runs a Deployment in real containers. All of it is removed at the end, whatever happened. */
export const demonstrateContainers = async (
  context: ScenarioContext,
  dataDir: string,
  invocation: Invocation<(typeof demoFlags)['rows']>,
): Promise<void> => {
  const {stopping, parsed} = invocation;
  {
    await using _ = await temporaryAgent(context, dataDir, invocation);
    await runDeployment({...context, stopping}, parsed.options.image);
  }
  context.print('The agent has ended, and its containers, networks, mounts and control groups are removed.');
};

/** Starts an agent. Disposing of it removes all that it has left, also when a signal has stopped the demo. */
const temporaryAgent = async (
  {plane, print}: ScenarioContext,
  dataDir: string,
  invocation: Invocation<(typeof demoFlags)['rows']>,
): Promise<AsyncDisposable> => {
  const {clock, log, parsed} = invocation;
  const agent = await startAgentBeside(plane, dataDir, parsed.options.agentArg, invocation);
  return {
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      const {signal: stopping} = new AbortController();
      const {chains, failures} = await cleanAgent(agent.place, {graceSeconds: 1, all: false}, {clock, log, stopping});
      if (chains.length > 0) print(`Its chains of iptables are removed: ${chains.join(', ')}.`);
      if (failures.length > 0) throw new Error(`what the node has left could not be removed: ${failures.join('; ')}`);
    },
  };
};

const runDeployment = async (context: ContainersContext, image: string): Promise<void> => {
  const {admin, clock, print} = context;
  const since = clock.monotonic();
  const passed = (): string => `${Math.round(clock.monotonic() - since)} ms`;
  const node = await found(context, 'a node is ready', async () => (await admin.resource(kinds.nodes).list()).items.find(isReadyNode));
  print(
    `The node ${node.metadata?.name} has registered itself with its own certificate and is ready after ${passed()}: ${node.status?.nodeInfo?.containerRuntimeVersion}.`,
  );
  const labels = {app: 'demo'};
  const at = {name: 'demo', namespace: 'default'};
  const command = ['sh', '-c', "trap 'exit 0' TERM; echo a line from a real container; while true; do sleep 0.1; done"];
  await admin.resource(kinds.deployments).create({
    metadata: at,
    spec: {
      replicas: 2,
      selector: {matchLabels: labels},
      template: {metadata: {labels}, spec: {containers: [{name: 'app', image, command}]}},
    },
  });
  await found(
    context,
    'both pods of the deployment are available',
    async () => {
      const {status} = await admin.resource(kinds.deployments).get(at.name, {namespace: at.namespace});
      return status?.availableReplicas === 2;
    },
    () => waitingReason(admin, at.namespace),
  );
  print(`A Deployment runs two pods of ${image} in real containers, ${passed()} after the agent was started.`);
  const [pod] = (await admin.resource(kinds.pods).list({namespace: at.namespace, labelSelector: 'app=demo'})).items;
  const log = await admin.request('GET', `/api/v1/namespaces/default/pods/${pod?.metadata?.name}/log`, {accept: '*/*'});
  print(`The log of ${pod?.metadata?.name} through the API server: ${JSON.stringify(log)}.`);
  await admin.resource(kinds.deployments).delete(at.name, {namespace: at.namespace});
  await found(context, 'its pods are gone', async () => {
    const {items} = await admin.resource(kinds.pods).list({namespace: at.namespace, labelSelector: 'app=demo'});
    return items.length === 0;
  });
  print('The Deployment is deleted, and its pods are gone.');
};
