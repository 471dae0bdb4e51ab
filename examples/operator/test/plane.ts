import type {TestContext} from 'node:test';
import {startPlane, VirtualClock} from '@platio/plat';
import {createManager} from '@platio/plat/operator';
import {controllers, webhooks} from '../src/operator.js';

const withWebhooks = ['manifests/namespace.yaml', 'manifests/crds', 'manifests/webhooks.yaml'];
const anyPort = {bindAddress: '127.0.0.1', port: 0};

/** A plane with the definitions, and the controllers and webhooks that work on it. Time is virtual. */
export const started = async (t: TestContext) => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, clock, manifests: ['manifests/crds']});
  const stop = new AbortController();
  const manager = createManager({
    controllers,
    client: plane.client(),
    clock,
    ...(webhooks.length > 0 ? {webhooks: {handlers: webhooks, certificate: await plane.webhookPair(), ...anyPort}} : {}),
  });
  const run = manager.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await run;
    await plane.stop();
  });
  await manager.ready;
  const port = await manager.webhookPort;
  if (port !== undefined) await plane.apply(withWebhooks, {webhooks: {port}}); // The plane calls them at this port.
  return plane;
};
