import {basename} from 'node:path';
import {after} from 'node:test';
import {startPlane, VirtualClock} from '@platio/plat';
import {createManager} from '@platio/plat/operator';
import {recordRights} from '@platio/plat/testing';
import {configurations, controllers, webhooks} from '../src/operator.js';

const isServing = webhooks.length > 0;
const withWebhooks = ['manifests/namespace.yaml', 'manifests/crds', 'manifests/webhooks.yaml'];
const anyPort = {bindAddress: '127.0.0.1', port: 0};

// What the operator does in the tests becomes its rights: `npm run generate` writes them to manifests/rights.yaml.
const rights = recordRights({
  name: 'my-operator',
  controllers,
  leaderElection: true,
  metrics: true,
  ...(isServing ? {webhooks: {handlers: webhooks, configurations}} : {}),
});
after(() => rights.write(`dist/rights/${basename(process.argv[1] ?? '', '.js')}.json`));

/** A test, or the tests of a file. */
interface Scope {
  after(stop: () => Promise<void>): void;
}

/** A plane with the definitions, and the controllers and webhooks that work on it. Time is virtual. */
export const started = async (scope: Scope) => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, clock, manifests: ['manifests/crds']});
  const stop = new AbortController();
  const manager = createManager({
    controllers,
    client: rights.client(plane),
    clock,
    reconcileTimeout: '30s', // One that hangs would hold the virtual clock for ever.
    ...(isServing ? {webhooks: {handlers: webhooks, certificate: await plane.webhookPair(), ...anyPort}} : {}),
  });
  const run = manager.run(stop.signal);
  scope.after(async () => {
    stop.abort();
    await run;
    await plane.stop();
  });
  await manager.ready;
  const port = await manager.webhookPort;
  if (port !== undefined) await plane.apply(withWebhooks, {webhooks: {port}}); // The plane calls them at this port.
  return plane;
};
