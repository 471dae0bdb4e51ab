import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import type {SimulationContext} from './context.js';
import {nodeReference, recordConditionEvents} from '#src/platlet/node/conditions.js';
import {ownMetadataPatch} from '#src/platlet/node/node-object.js';
import type {Agent} from './agent.js';
import {adminLabels, newNode, withDevices} from './node-object.js';

const notYet = '[container runtime status check may not have completed yet]';

/** Updates the agent's labels and annotations of an existing Node. */
const reconcileNode = async ({naming, clock}: SimulationContext, agent: Agent, found: Frozen<Node>): Promise<Frozen<Node>> => {
  const patch = ownMetadataPatch(naming, found, newNode(naming, agent.machine, {pressures: []}, clock.now()));
  if (!patch) return found;
  return agent.client.resource(kinds.nodes).patch(agent.machine.name, 'merge', {metadata: patch}, {subresource: 'status'});
};

const createNode = async (context: SimulationContext, {machine, devices, client}: Agent): Promise<Node> => {
  const {naming, clock} = context;
  const made = newNode(naming, withDevices(machine, devices.count()), {pressures: [], notReady: notYet}, clock.now());
  const node = await client.resource(kinds.nodes).create(made);
  const labels = adminLabels(naming, machine);
  if (Object.keys(labels).length === 0) return node;
  return context.client.resource(kinds.nodes).patch(machine.name, 'merge', {metadata: {labels}});
};

/** Creates the Node of an agent, initially not ready; an existing one is kept. */
export const register = async (context: SimulationContext, agent: Agent): Promise<Frozen<Node>> => {
  const {naming} = context;
  const {machine, client, events} = agent;
  const known = agent.isSuccessor ? undefined : context.nodes.get(machine.name);
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
  recordConditionEvents({naming, events, name: machine.name}, undefined, {
    ...node.status,
    conditions: conditions.filter(({type}) => type !== 'Ready'),
  });
  events.normal(reference, 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
  return node;
};
