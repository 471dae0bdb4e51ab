import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import type {SimulationContext} from './context.js';
import {nodeReference, simulatedFailures, type Agent} from './agent.js';
import {recordStatusEvents} from './heartbeat.js';
import {adminLabels, newNode} from './node-object.js';

const notYet = '[container runtime status check may not have completed yet]';

/** Sets the agent's own labels and annotations on an existing Node. */
const reconcileNode = async ({naming, clock}: SimulationContext, agent: Agent, found: Frozen<Node>): Promise<Frozen<Node>> => {
  const {metadata: {labels = {}, annotations = {}} = {}} = newNode(naming, agent.machine, {pressures: []}, clock.now());
  const own = [naming.labels.hostname, naming.labels.os, naming.labels.arch];
  const stale = own.filter(key => found.metadata?.labels?.[key] !== labels[key]);
  const attach = naming.subKey('volumes', 'controller-managed-attach-detach');
  if (stale.length === 0 && found.metadata?.annotations?.[attach] === annotations[attach]) return found;
  const patch = {
    metadata: {labels: Object.fromEntries(stale.map(key => [key, labels[key]])), annotations: {[attach]: annotations[attach]}},
  };
  return agent.client.resource(kinds.nodes).patch(agent.machine.name, 'merge', patch, {subresource: 'status'});
};

const createNode = async (context: SimulationContext, {machine, client}: Agent): Promise<Node> => {
  const {naming, clock} = context;
  const node = await client
    .resource(kinds.nodes)
    .create(newNode(naming, machine, {...simulatedFailures(naming, undefined), notReady: notYet}, clock.now()));
  const labels = adminLabels(naming, machine);
  if (Object.keys(labels).length === 0) return node;
  return context.client.resource(kinds.nodes).patch(machine.name, 'merge', {metadata: {labels}});
};

/** Creates the agent's Node, not ready at first; an existing one is kept. */
export const register = async (context: SimulationContext, agent: Agent): Promise<Frozen<Node>> => {
  const {naming} = context;
  const {machine, client, events} = agent;
  const known = context.nodes.get(machine.name);
  const node = known
    ? await reconcileNode(context, agent, known)
    : await createNode(context, agent).catch(async (error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
        return reconcileNode(context, agent, await client.resource(kinds.nodes).get(machine.name));
      });
  agent.registered = true;
  const reference = nodeReference(naming, machine.name);
  events.normal(reference, 'Starting', `Starting ${naming.agent}.`);
  const {conditions = []} = node.status ?? {};
  recordStatusEvents(context, agent, undefined, {...node.status, conditions: conditions.filter(({type}) => type !== 'Ready')});
  events.normal(reference, 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
  return node;
};
