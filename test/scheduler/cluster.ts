import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {aPlane} from '#test/controllers/plane.js';

/** A plane with these nodes, and common operations. Each call resolves after everything that it caused has happened. */
export const aCluster = (...nodes: Node[]) => aClusterWith([], ...nodes);

/** The same, with these arguments for the API server and the scheduler. */
export const aClusterWith = async (args: readonly string[], ...nodes: Node[]) => {
  // The node controllers have their own tests; here nodes are as the test defines them.
  const plane = await aPlane({
    controllerManagerArgs: ['--controllers=serviceaccount-controller'],
    apiserverArgs: args,
    schedulerArgs: args.filter(arg => !arg.startsWith('--runtime-config')),
  });
  const {clock} = plane;
  const client = plane.client();
  const pods = client.resource(kinds.pods);
  const namespace = 'default';
  const cluster = {
    plane,
    clock,
    client,
    pods,
    [Symbol.asyncDispose]: () => plane.stop(),
    /** Nodes are created with a taint that the node lifecycle removes once they are ready. */
    async addNodes(...added: Node[]) {
      for (const node of added) {
        const made = await client.resource(kinds.nodes).create(node);
        await client.resource(kinds.nodes).update({...made, spec: {...node.spec}});
      }
      await clock.drain();
    },
    async create(...created: Pod[]) {
      for (const pod of created) await pods.create(pod);
      await clock.drain();
    },
    get: (name: string) => pods.get(name, {namespace}),
    /** Deletes a pod as its node would once it has stopped. */
    async end(name: string) {
      await pods.delete(name, {namespace, gracePeriodSeconds: 0});
      await clock.drain();
    },
    async nodeOf(name: string) {
      return (await pods.get(name, {namespace})).spec?.nodeName;
    },
    async condition(name: string, of = 'PodScheduled') {
      const {status} = await pods.get(name, {namespace});
      const {status: is, reason, message} = status?.conditions?.find(({type}) => type === of) ?? {};
      return {status: is, reason, message};
    },
    async events(name: string) {
      const {items} = await client.resource(kinds.coreEvents).list({namespace});
      return items
        .filter(({involvedObject}) => involvedObject.name === name)
        .map(({type, reason, message, reportingComponent}) => ({type, reason, message, reportingComponent}));
    },
  };
  await cluster.addNodes(...nodes);
  return cluster;
};
