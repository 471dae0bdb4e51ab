import {startPlane, VirtualClock} from '@platio/plat';
import {createManager, isNotFound, webhookConfigurations} from '@platio/plat/operator';
import {Namespace, NetworkPolicy} from '@platio/plat/operator/kinds';
import {defaultPolicies, ownerLabel, ownerPolicy} from './operator.js';

/** What the test of the operator sees, whatever framework runs it. */
export interface Observed {
  readonly refusal: string;
  readonly restored: boolean;
  readonly exempt: boolean;
}

/**
 * Runs the operator against a plane in this process: a namespace without an owner, one with one, and a policy that
 * somebody deletes.
 */
export const observe = async (): Promise<Observed> => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, clock});
  const client = plane.client();
  const stop = new AbortController();
  const manager = createManager({
    controllers: [defaultPolicies],
    client,
    clock,
    webhooks: {
      handlers: [ownerPolicy],
      certificate: {secret: 'owners-webhook-cert', namespace: 'default'},
      configurations: ['owners'],
      bindAddress: '127.0.0.1',
      port: 0,
    },
  });
  const run = manager.run(stop.signal);
  try {
    await manager.ready;
    await plane.apply(
      webhookConfigurations({name: 'owners', handlers: [ownerPolicy], url: `https://127.0.0.1:${await manager.webhookPort}`}),
    );
    await clock.drain();
    const namespaces = client.resource(Namespace);
    const refusal = await namespaces.create({metadata: {name: 'nobodys'}}).then(
      () => '',
      (error: Error) => error.message,
    );
    await namespaces.create({metadata: {name: 'shop', labels: {[ownerLabel]: 'team-shop'}}});
    await clock.drain();
    const policies = client.resource(NetworkPolicy);
    await policies.delete('deny-by-default', {namespace: 'shop'});
    await clock.drain();
    const has = async (namespace: string): Promise<boolean> => {
      try {
        await policies.get('deny-by-default', {namespace});
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    };
    return {refusal, restored: await has('shop'), exempt: !(await has('default'))};
  } finally {
    stop.abort();
    await clock.drain();
    await run;
    await plane.stop();
  }
};
